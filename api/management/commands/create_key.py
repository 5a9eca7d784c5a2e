"""Make one more API key of a merchant."""

import json
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from api.commands import AuditedCommand
from core import stop_signals
from core.rest import resources
from merchants import keys
from merchants.models import Merchant
from merchants.refusals import ChangeRefused


class Command(AuditedCommand):
    help = "Make an API key; prints its secret, once."
    permission = "merchants.change_merchant_terms"

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
        try:
            scopes = dict(scope.split("=", 1) for scope in options["scope"])
            # Else a signal behind the commit would leave a key whose secret was never shown.
            stop_signals.go_to_the_end()
            key, secret = keys.create(
                merchant,
                name=options["name"],
                scopes=scopes,
                expires_at=_moment(options["expires"]),
            )
        except ChangeRefused as refusal:
            raise CommandError(str(refusal)) from refusal
        except ValueError as error:
            known = ", ".join(resources.scopes())
            raise CommandError(
                f"A scope is RESOURCE=none, =read or =write; the resources are {known}."
            ) from error
        facts = {"id": key.id, "secret_key": secret, "merchant_id": merchant.id}
        self.stdout.write(json.dumps(facts) if options["json"] else secret)


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError("--expires takes ISO 8601 with a time zone.") from error
    if moment.tzinfo is None:
        raise CommandError("--expires takes ISO 8601 with a time zone.")
    return moment
