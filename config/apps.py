from django.apps import AppConfig
from django.conf import settings
from django.core.checks import register


class ServiceConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from api import authentication
        from config import caller, deployment
        from core import hardening

        hardening.forbid_core_dumps(is_live=settings.LIVEMODE)
        authentication.register(**caller.PARTS)
        register(deployment.stores_are_ready, deploy=True)
