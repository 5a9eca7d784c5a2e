from django.apps import AppConfig


class InstallmentsConfig(AppConfig):
    name = "payments.installments"

    def ready(self) -> None:
        from core.rest import resources
        from payments.installments.resource import RESOURCE

        resources.register(RESOURCE)
