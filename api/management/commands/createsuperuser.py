"""Make an operator who may do everything: Django's command, with a row in the audit log."""

import getpass
import os
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from api.commands import AuditedCommand
from merchants import operators
from merchants.models import User
from merchants.operator_rights import OperatorRefused
from merchants.team import TeamRefused


class Command(AuditedCommand):
    help = "Make an operator who may do everything; further ones are invited at the desk."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--email")
        parser.add_argument(
            "--noinput", "--no-input", action="store_false", dest="interactive",
            help="ask nothing; the password is DJANGO_SUPERUSER_PASSWORD's, or none yet",
        )  # fmt: skip
        parser.add_argument(
            "--emergency", metavar="REASON",
            help="where no operator can prove it any more; all of them get a mail",
        )  # fmt: skip

    def needs_operators(self, options: dict[str, Any]) -> bool:
        return not options.get("emergency") and super().needs_operators(options)

    def handle(self, *_args: Any, **options: Any) -> None:
        if not all(one.is_superuser for one in self.operators):
            raise CommandError("Only one who may do everything makes another one.")
        is_asked = options["interactive"]
        email = options["email"] or (input("E-mail address: ") if is_asked else "")
        password = _typed(email) if is_asked else os.environ.get("DJANGO_SUPERUSER_PASSWORD")
        try:
            person = operators.make_superuser(email, password, emergency=options["emergency"])
        except (OperatorRefused, TeamRefused) as refusal:
            raise CommandError(refusal.text) from refusal
        self.stdout.write(f"{person.email} may do everything, once they have a second factor.")


def _typed(email: str) -> str:
    password = getpass.getpass("Password: ")
    if password != getpass.getpass("Password again: "):
        raise CommandError("The passwords differ.")
    try:
        validate_password(password, User(email=email, is_staff=True))
    except ValidationError as refusal:
        raise CommandError(" ".join(refusal.messages)) from refusal
    return password
