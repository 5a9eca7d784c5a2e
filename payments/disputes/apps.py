from django.apps import AppConfig


class DisputesConfig(AppConfig):
    name = "payments.disputes"

    def ready(self) -> None:
        from acquirers.conversation import kinds
        from acquirers.notices import applying
        from core.rest import resources
        from events import transitions, types
        from payments.disputes import deliveries, notices, states
        from payments.disputes.resource import AGGREGATE, RESOURCE

        transitions.register(states.DISPUTES, states.DELIVERIES)
        types.register(AGGREGATE)
        resources.register(RESOURCE)
        kinds.register(deliveries.KIND)
        applying.register(
            dispute_opened=notices.dispute_opened,
            inquiry_opened=notices.inquiry_opened,
            dispute_escalated=notices.dispute_escalated,
            dispute_won=notices.dispute_won,
            dispute_lost=notices.dispute_lost,
            dispute_regained=notices.dispute_won,
            inquiry_closed=notices.inquiry_closed,
        )
