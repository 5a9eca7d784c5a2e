from datetime import timedelta

from django.apps import AppConfig
from django.core.checks import register

from core.keyring import needs
from core.keyring.purposes import CVC
from vault import cvc
from vault.checks import key_ring_loads, keys_are_in_date


class VaultConfig(AppConfig):
    name = "vault"

    def ready(self) -> None:
        lives = timedelta(seconds=cvc.LIFE_SECONDS)
        needs.register(CVC, needs.for_so_long("security codes", lives))
        register(key_ring_loads)
        register(keys_are_in_date, deploy=True)
