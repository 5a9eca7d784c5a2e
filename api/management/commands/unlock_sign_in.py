"""Let a person sign in again before their 30 minutes are over."""

from typing import Any

from django.core.management.base import CommandParser

from api.commands import AuditedCommand
from merchants import operators, sign_in


class Command(AuditedCommand):
    help = "Forget the wrong passwords and codes of a person, which lock them. Safe to repeat."
    permission = operators.MANAGE_PEOPLE

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--reason", help="for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"]
        if sign_in.unlock(email, reason=options["reason"]):
            self.stdout.write(f"What {email} typed wrong is forgotten: they may sign in.")
        else:
            self.stdout.write(f"Nothing wrong was counted for {email}: they are not locked.")
