"""Give a person another password: Django's command, with a row in the audit log."""

import getpass
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from api.commands import AuditedCommand
from core.names import email_key
from merchants import operators, people
from merchants.models import User
from merchants.operator_rights import OperatorRefused, require_not_above


class Command(AuditedCommand):
    help = "Give a person another password, and sign them out everywhere."
    permission = operators.MANAGE_PEOPLE

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--reason", help="for the audit log")

    def handle(self, *_args: Any, **options: Any) -> None:
        person = User.objects.filter(email=email_key(options["email"])).first()
        if person is None:
            raise CommandError("There is no such person.")
        try:
            for one in self.operators:
                require_not_above(one, person)
            password = getpass.getpass("Password: ")
            if password != getpass.getpass("Password again: "):
                raise CommandError("The passwords differ.")
            validate_password(password, person)
        except OperatorRefused as refusal:
            raise CommandError(refusal.text) from refusal
        except ValidationError as refusal:
            raise CommandError(" ".join(refusal.messages)) from refusal
        people.change_password(person, password, reason=options["reason"])
        self.stdout.write(f"{person.email} has another password, and is signed out everywhere.")
