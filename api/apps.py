from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "api"

    def ready(self) -> None:
        from api.resource import ACCOUNT, REQUEST_LOGS
        from core.rest import resources

        resources.register(ACCOUNT, REQUEST_LOGS)
