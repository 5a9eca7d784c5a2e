from django.apps import AppConfig


class ChargingConfig(AppConfig):
    name = "payments.charging"

    def ready(self) -> None:
        from acquirers.conversation import kinds
        from acquirers.notices import applying
        from core.keyring import renewals
        from payments.bank import attempts, modifications
        from payments.charging import card_renewal, fraud_updates

        kinds.register(attempts.KIND, modifications.KIND)
        applying.register(fraud_warning=fraud_updates.warned)
        renewals.register("attempts", card_renewal.renew)
