from datetime import timedelta

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "api"

    def ready(self) -> None:
        from django.conf import settings

        from api.idempotency import fingerprint
        from api.resource import ACCOUNT, REQUEST_LOGS
        from core.keyring import needs
        from core.rest import resources

        resources.register(ACCOUNT, REQUEST_LOGS)
        lives = timedelta(hours=settings.IDEMPOTENCY_KEY_HOURS)
        needs.register(fingerprint.PURPOSE, needs.for_so_long("idempotency keys", lives))
