from django.apps import AppConfig
from django.utils.module_loading import import_string


class RiskConfig(AppConfig):
    name = "payments.risk"

    def ready(self) -> None:
        """Stop the start if the installation's rules cannot be read."""
        # By its name: no model can be imported before all apps are there.
        import_string("payments.risk.rules.of_installation")("try")
