from django.apps import AppConfig


class ServiceConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from api import authentication
        from config import caller

        authentication.register(**caller.PARTS)
