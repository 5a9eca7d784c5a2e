from django.apps import AppConfig


class PayoutsConfig(AppConfig):
    name = "payouts"

    def ready(self) -> None:
        from acquirers.conversation import kinds
        from acquirers.transfers import taking_in
        from core.rest import resources
        from events import transitions, types
        from payouts import notices, sending, states
        from payouts.resource import AGGREGATE, RESOURCE

        transitions.register(states.PAYOUTS)
        types.register(AGGREGATE)
        resources.register(RESOURCE)
        kinds.register(sending.KIND)
        taking_in.register(
            transfer_paid=notices.paid,
            transfer_failed=notices.failed,
            transfer_returned=notices.failed,
        )
