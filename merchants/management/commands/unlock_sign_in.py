"""Let a name sign in again before its 30 minutes are over."""

from typing import Any

from django.core.management.base import CommandParser

from merchants import sign_in
from merchants.commands import AuditedCommand


class Command(AuditedCommand):
    help = "Forget the wrong passwords of an e-mail address, which lock it. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"]
        if sign_in.unlock(email):
            self.stdout.write(f"The wrong passwords of {email} are forgotten: it may sign in.")
        else:
            self.stdout.write(f"No wrong passwords of {email} were counted: it is not locked.")
