"""Revoke an API key."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from api.commands import AuditedCommand
from merchants import keys, operators
from merchants.models import ApiKey


class Command(AuditedCommand):
    help = "Revoke an API key: the next request with it is refused. Safe to repeat."
    permission = operators.MANAGE_PEOPLE

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", help="key_…")
        parser.add_argument("--reason", help="for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        key = ApiKey.objects.select_related("merchant").filter(id=options["key"]).first()
        if key is None:
            raise CommandError("There is no such key.")
        keys.revoke(key, reason=options["reason"])
        self.stdout.write(f"{key.id} ({key}) is revoked.")
