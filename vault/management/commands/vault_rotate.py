import time
from typing import Any

from django.core.management.base import CommandError

from api.commands import JobCommand
from core import heartbeat, keyring
from core.keyring import renewals
from vault import peers, ring_history, rotation, sealed_rows
from vault.sealed_rows import SealedColumn

SECONDS_BETWEEN_LINES = 2.0


class Command(JobCommand):
    help = (
        "Seal everything anew that is not under the primary key. The service may run meanwhile; "
        "broken off, it goes on where it was."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        ring = keyring.ring()
        try:
            # It seals like other processes: none of those may be overtaken by it, or overtake it.
            ring_history.require_current(ring, peers.here())
            peers.join("rotation")
            if not heartbeat.is_known():
                raise CommandError("The database takes no row of this process: nothing was done.")
            heartbeat.begin()
            peers.require_sealing_with(ring.primary)  # Also where no row is left to seal anew.
            left = [self._rotate(column, ring) for column in sealed_rows.columns()]
            for rows, renewed in renewals.run():
                if renewed:
                    self.stdout.write(f"{rows}: {renewed} renewed")
        except keyring.KeyRingError as error:
            raise CommandError(str(error)) from error
        finally:
            heartbeat.end()
        if any(left):
            raise CommandError(
                f"{sum(left)} rows are not under {ring.primary}. If they are not named above as "
                "broken, others hold them: run this again."
            )

    def _rotate(self, column: SealedColumn, ring: keyring.KeyRing) -> int:
        """Rewrap one column and print its progress; return how many rows are left."""
        found, rewrapped, broken = rotation.count_left(column, ring), 0, set[Any]()
        told_at = time.monotonic()
        for batch in rotation.rewrap(column, ring):
            rewrapped += batch.rewrapped
            for key, reason in batch.broken.items():
                if key not in broken:
                    self.stderr.write(f"{column.label} {key}: {reason}")
            broken |= batch.broken.keys()
            if time.monotonic() - told_at > SECONDS_BETWEEN_LINES:
                self.stdout.write(f"{column.label}: {rewrapped} of {found} so far")
                told_at = time.monotonic()
        left = rotation.count_left(column, ring)
        # Rows that this run did not rewrap and that are not left: destroyed, or another run's.
        gone = max(0, found - rewrapped - left)
        self.stdout.write(
            f"{column.label}: {rewrapped} rewrapped, {gone} gone meanwhile, {left} left"
            f" ({len(broken)} broken)"
        )
        return left
