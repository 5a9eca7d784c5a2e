"""Make one more API key of a merchant."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_datetime

from merchants import keys
from merchants.models import Merchant


class Command(BaseCommand):
    help = "Make an API key; prints its secret, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("merchant", help="mer_…")
        parser.add_argument("--name", default="Key")
        parser.add_argument(
            "--scope", action="append", default=[], metavar="RESOURCE=LEVEL",
            help="none, read or write of a resource (repeatable; default: write of all)",
        )  # fmt: skip
        parser.add_argument("--expires", help="ISO 8601 with a time zone")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        merchant = Merchant.objects.filter(id=options["merchant"]).first()
        if merchant is None:
            raise CommandError("There is no such merchant.")
        expires_at = parse_datetime(options["expires"]) if options["expires"] else None
        if options["expires"] and (expires_at is None or expires_at.tzinfo is None):
            raise CommandError("--expires takes ISO 8601 with a time zone.")
        try:
            scopes = dict(scope.split("=", 1) for scope in options["scope"])
            key, secret = keys.create(
                merchant, name=options["name"], scopes=scopes, expires_at=expires_at
            )
        except ValueError as error:
            raise CommandError("A scope is RESOURCE=none, =read or =write.") from error
        facts = {"id": key.id, "secret_key": secret, "merchant_id": merchant.id}
        self.stdout.write(json.dumps(facts) if options["json"] else secret)
