from django.apps import AppConfig


class RiskConfig(AppConfig):
    name = "payments.risk"

    def ready(self) -> None:
        """Stop the start if the installation's rules cannot be read."""
        from payments.risk import rules

        rules.of_installation("try")
