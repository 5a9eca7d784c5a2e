from datetime import timedelta

from django.apps import AppConfig
from django.core.checks import register

from core.keyring import needs
from core.keyring.purposes import CVC
from vault import checks, cvc


class VaultConfig(AppConfig):
    name = "vault"

    def ready(self) -> None:
        from vault import ring_steps  # Its models are there by now.

        lives = timedelta(seconds=cvc.LIFE_SECONDS)
        needs.register(CVC, needs.for_so_long("security codes", lives))
        register(checks.key_ring_loads)
        register(checks.keys_are_in_date, deploy=True)
        checks.ROWS_OF_STEPS.append(ring_steps.write_missing)
