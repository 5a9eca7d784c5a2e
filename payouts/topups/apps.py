from django.apps import AppConfig


class TopupsConfig(AppConfig):
    name = "payouts.topups"

    def ready(self) -> None:
        from acquirers.transfers import taking_in
        from core.rest import resources
        from events import transitions, types
        from payouts.topups import notices, states
        from payouts.topups.resource import AGGREGATE, RESOURCE

        transitions.register(states.TOPUPS, states.ARRIVALS)
        types.register(AGGREGATE)
        resources.register(RESOURCE)
        taking_in.register(
            transfer_received=notices.received,
            transfer_refused=notices.refused,
            transfer_reversed=notices.reversed_,
        )
