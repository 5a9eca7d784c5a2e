from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "payments.search"

    def ready(self) -> None:
        from core.rest import resources
        from payments.search.resource import RESOURCE

        resources.register(RESOURCE)
