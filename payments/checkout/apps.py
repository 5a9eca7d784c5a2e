from django.apps import AppConfig


class CheckoutConfig(AppConfig):
    name = "payments.checkout"

    def ready(self) -> None:
        from django.core.checks import register

        from core.rest import resources
        from events import transitions, types
        from payments.checkout import following, networks, states
        from payments.checkout.resource import AGGREGATE, RESOURCE
        from payments.intents import transition

        transitions.register(states.SESSIONS)
        types.register(AGGREGATE)
        resources.register(RESOURCE)
        transition.register(following.follow)
        register(networks.payers_have_public_addresses, deploy=True)
