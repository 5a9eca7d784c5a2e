from django.apps import AppConfig


class IntentsConfig(AppConfig):
    name = "payments.intents"
    verbose_name = "Payments"

    def ready(self) -> None:
        from core.rest import resources
        from events import transitions, types
        from merchants import terms
        from payments.intents import states
        from payments.intents.merchant_terms import TERMS
        from payments.intents.resource import AGGREGATE, RESOURCE

        transitions.register(states.PAYMENTS, states.ATTEMPTS, states.MODIFICATIONS)
        types.register(AGGREGATE)
        resources.register(RESOURCE)
        terms.register(*TERMS)
