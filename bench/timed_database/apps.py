from django.apps import AppConfig


class TimedConfig(AppConfig):
    name = "bench.timed_database"

    def ready(self) -> None:
        """Put a clock on planning: its app is installed after the service's own."""
        from bench import timed_plan
        from events import outbox

        outbox.SUBSCRIBERS["webhooks.dispatch.plan"] = timed_plan.plan
