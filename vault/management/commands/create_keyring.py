from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core import context, keyring
from core.context import ActorKind
from core.keyring import kek, steps
from vault import custodians


class Command(BaseCommand):
    help = "Write a new key ring. Keep a copy of it elsewhere: without it no card opens again."
    # The check for a key ring would stop the command that makes one.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="?", type=Path, help="default: KEYRING_FILE")
        custodians.add_argument(parser)

    def handle(self, *_args: Any, **options: Any) -> None:
        path, files = options["path"] or settings.KEYRING_FILE, options["components"]
        try:
            # A command that was broken off may have made it, and not given the files their names.
            if not custodians.are_of(path, files):
                if path.exists():
                    keyring.create(path)  # Refused before a custodian has written anything down.
                made = custodians.make(kek.new_installation(), files, self.stdout)
                with context.work():
                    context.act_as(ActorKind.COMMAND, "create_keyring", context.login_name())
                    step = steps.new("key_ring.made", made.kek.installation)
                    keyring.create(path, wrapping=made, made_for=settings.INSTALLATION, step=step)
            custodians.hand_out(path, files)
        except keyring.KeyRingError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Wrote a new key ring to {path}.")
