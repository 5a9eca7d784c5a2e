from django.apps import AppConfig


class RiskConfig(AppConfig):
    name = "payments.risk"

    def ready(self) -> None:
        """Stop the start if the installation's rules cannot be read."""
        from core.keyring import needs, renewals
        from payments.risk import entry_renewal, fingerprints, lists, rules

        counted = needs.for_so_long("attempts that rules count", fingerprints.WINDOW_MAX)
        for purpose in (fingerprints.CARD, fingerprints.EMAIL, fingerprints.NETWORK):
            needs.register(purpose, counted)
        for kind, purpose in fingerprints.OF_KIND.items():
            needs.register(purpose, lists.entries_need(kind))
        renewals.register("list entries", entry_renewal.renew)
        rules.of_installation("try")
