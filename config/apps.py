from django.apps import AppConfig
from django.core.checks import register


class ServiceConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from api import authentication
        from config import caller, deployment

        authentication.register(**caller.PARTS)
        register(deployment.stores_are_ready, deploy=True)
