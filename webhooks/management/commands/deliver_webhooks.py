import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core import heartbeat, reloads, traces
from core.keyring import KeyRingError
from core.metrics import address
from core.postgresql.waits import require_bounded_waits
from core.release import require_borne_schema
from vault import peers
from vault.checks import require_keys
from webhooks import upkeep
from webhooks.delivery.drain import Drain


class Command(BaseCommand):
    help = (
        "Deliver webhooks until told to stop (SIGTERM or Ctrl-C); needs neither Celery nor Redis."
    )
    # They are those of `manage.py check`: here all pages would be loaded for them.
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        require_bounded_waits()
        require_borne_schema()
        try:
            require_keys()
            peers.join("sender")
        except KeyRingError as error:
            raise CommandError(str(error)) from error
        heartbeat.begin()
        address.begin("sender")
        address.serve()
        traces.begin("sender")
        drain = Drain(upkeep.chores())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda *_signal: drain.stop())
        reloads.refuse_from_now_on()
        try:
            drain.run(seconds=None)
        finally:
            drain.close()
            heartbeat.end()
