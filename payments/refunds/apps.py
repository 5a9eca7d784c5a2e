from django.apps import AppConfig


class RefundsConfig(AppConfig):
    name = "payments.refunds"

    def ready(self) -> None:
        from acquirers.conversation import kinds
        from acquirers.notices import applying
        from core.rest import resources
        from events import transitions, types
        from ledger import earmarks
        from payments.bank import taken_back as taken_back_at_the_bank
        from payments.refunds import asking, notices, states, taken_back, waiting
        from payments.refunds.resource import AGGREGATE, RESOURCE

        transitions.register(states.REFUNDS)
        types.register(AGGREGATE)
        resources.register(RESOURCE)
        kinds.register(asking.KIND)
        applying.register(refund_bounced=notices.refund_bounced)
        earmarks.register(waiting.needed)
        taken_back_at_the_bank.register(taken_back.book_whole)
