from django.apps import AppConfig
from django.core.checks import register

from vault.checks import key_ring_loads


class VaultConfig(AppConfig):
    name = "vault"

    def ready(self) -> None:
        register(key_ring_loads)
