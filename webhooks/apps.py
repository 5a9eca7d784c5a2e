from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"

    def ready(self) -> None:
        from core.rest import resources
        from events import outbox
        from webhooks import dispatch
        from webhooks.resource import ENDPOINTS, EVENTS

        resources.register(ENDPOINTS, EVENTS)
        outbox.register(dispatch.plan)
