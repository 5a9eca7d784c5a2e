from django.apps import AppConfig
from django.core.checks import register

from core.tls_checks import other_hosts_are_reached_by_tls


class CoreConfig(AppConfig):
    name = "core"

    def ready(self) -> None:
        register(other_hosts_are_reached_by_tls, deploy=True)
