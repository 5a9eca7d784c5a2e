from django.apps import AppConfig


class CasesConfig(AppConfig):
    name = "cases"

    def ready(self) -> None:
        from cases.states import CASES
        from events import transitions

        transitions.register(CASES)
