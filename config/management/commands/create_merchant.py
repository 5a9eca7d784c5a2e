"""Open a merchant's account."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from api.commands import AuditedCommand
from core import stop_signals
from ledger import sandbox_terms
from merchants import accounts
from merchants.accounts import Opened
from merchants.sites import SiteRefused
from payments.installments import sandbox_plans


class Command(AuditedCommand):
    help = "Open a merchant's account; prints its first key and its owner's password, once."
    permission = "merchants.change_merchant_terms"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", required=True)
        parser.add_argument("--email", required=True, help="the owner, who signs in to the panel")
        parser.add_argument("--website", action="append", default=[], help="https://… (repeatable)")
        parser.add_argument(
            "--callback", action="append", default=[], help="a callback URL (repeatable)"
        )
        parser.add_argument("--country", default="TR", help="two letters")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            opened = _open(options)
        except SiteRefused as refusal:
            raise CommandError(str(refusal)) from refusal
        except ValidationError as problem:
            reasons = [f"{name}: {' '.join(why)}" for name, why in problem.message_dict.items()]
            raise CommandError(" ".join(reasons)) from problem
        facts = {
            "merchant_id": opened.merchant.id,
            "secret_key": opened.secret_key,
            "panel_email": opened.owner.email,
            "panel_password": opened.password,
        }
        if options["json"]:
            self.stdout.write(json.dumps(facts))
        else:
            self.stdout.write("\n".join(f"{name}: {value}" for name, value in facts.items()))


@transaction.atomic
def _open(options: dict[str, Any]) -> Opened:
    # Else a signal behind the commit would leave an account whose secrets were never shown.
    stop_signals.go_to_the_end()
    opened = accounts.open_account(
        name=options["name"],
        email=options["email"],
        websites=tuple(options["website"]),
        callbacks=tuple(options["callback"]),
        country=options["country"].upper(),
    )
    sandbox_terms.give(opened.merchant)
    sandbox_plans.give(opened.merchant)
    return opened
