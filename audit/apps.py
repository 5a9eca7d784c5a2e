from django.apps import AppConfig

from core.metrics.address import SOURCES


class AuditConfig(AppConfig):
    name = "audit"

    def ready(self) -> None:
        from audit.daily import digests
        from audit.gauges import Gauges  # Its models are there by now.
        from core.keyring import needs

        needs.register(digests.PURPOSE, digests.needed)
        SOURCES.add(self.name, Gauges())
