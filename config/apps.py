from django.apps import AppConfig


class ServiceConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import caller
        from merchants import authentication

        authentication.register(**caller.PARTS)
