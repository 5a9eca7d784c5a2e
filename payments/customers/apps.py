from django.apps import AppConfig


class CustomersConfig(AppConfig):
    name = "payments.customers"

    def ready(self) -> None:
        from core.rest import resources
        from events import types
        from payments.customers.resource import AGGREGATE, RESOURCE

        types.register(AGGREGATE)
        resources.register(RESOURCE)
