from django.apps import AppConfig

from core.metrics.address import SOURCES


class AuditConfig(AppConfig):
    name = "audit"

    def ready(self) -> None:
        from audit.gauges import Gauges  # Its models are there by now.

        SOURCES.add(self.name, Gauges())
