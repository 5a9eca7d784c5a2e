from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "ledger"

    def ready(self) -> None:
        from core.rest import resources
        from events import types
        from ledger.events import AGGREGATE
        from ledger.merchant_terms import TERMS
        from ledger.resource import BALANCE, TRANSACTIONS
        from merchants import terms

        types.register(AGGREGATE)
        resources.register(BALANCE, TRANSACTIONS)
        terms.register(*TERMS)
