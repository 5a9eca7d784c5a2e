from django.apps import AppConfig
from django.db.models.signals import post_migrate

from acquirers.sandbox.default_terminal import add_sandbox_default


class AcquirersConfig(AppConfig):
    name = "acquirers"

    def ready(self) -> None:
        post_migrate.connect(add_sandbox_default, sender=self)
