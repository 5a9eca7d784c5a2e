from django.apps import AppConfig


class PanelConfig(AppConfig):
    name = "panel"

    def ready(self) -> None:
        from panel import letters

        letters.register()
