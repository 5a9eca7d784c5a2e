from django.apps import AppConfig
from django.core.checks import register

from vault.checks import key_ring_loads, keys_are_in_date


class VaultConfig(AppConfig):
    name = "vault"

    def ready(self) -> None:
        register(key_ring_loads)
        register(keys_are_in_date, deploy=True)
