"""Revoke an API key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from merchants import keys
from merchants.models import ApiKey


class Command(BaseCommand):
    help = "Revoke an API key: the next request with it is refused. Safe to repeat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", help="key_…")

    def handle(self, *args: Any, **options: Any) -> None:
        key = ApiKey.objects.filter(id=options["key"]).first()
        if key is None:
            raise CommandError("There is no such key.")
        keys.revoke(key)
        self.stdout.write(f"{key.id} ({key}) is revoked.")
