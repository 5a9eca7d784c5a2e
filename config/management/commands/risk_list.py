"""The lists of blocked and allowed payers: `manage.py risk_list add block email …`.

Each change is an operator's, named by `--as`, who may manage the lists.
"""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from api.commands import AuditedCommand
from core import clock
from core.detection import contains_card_number
from core.errors import DomainError
from merchants.models import Merchant, User
from payments.intents import payer_blocks
from payments.risk import lists
from payments.risk.lists import BlockEntry
from payments.risk.models import ListEntry

REASON_MAX = 500


class Command(AuditedCommand):
    help = "Show, add and remove what is blocked and what rules leave alone."
    permission = lists.MANAGE
    reading = frozenset({"show"})

    def add_arguments(self, parser: CommandParser) -> None:
        deeds = parser.add_subparsers(dest="step", required=True)
        show = deeds.add_parser("show", help="the entries, the newest first")
        show.add_argument(
            "--merchant", help="mer_…; default: the installation's and all merchants'"
        )
        _add_entry(deeds.add_parser("add", help="add an entry, or renew the one that is there"))
        remove = deeds.add_parser("remove", help="take an entry off its list")
        remove.add_argument("id", type=int, help="as `show` prints it")
        _add_reason(remove)

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            getattr(self, options["step"])(options)
        except DomainError as refusal:
            raise CommandError(refusal.text) from refusal

    def show(self, options: dict[str, Any]) -> None:
        """Print entries; of those that are over, too."""
        rows = ListEntry.objects.select_related("by").order_by("-id")
        if options["merchant"]:
            rows = rows.filter(Q(merchant=_merchant(options["merchant"])) | Q(merchant=None))
        for row in rows:
            until = f" until {row.expires_at:%Y-%m-%d %H:%M}" if row.expires_at else ""
            by = row.by.email if row.by else "somebody who has left"
            self.stdout.write(
                f"{row.pk} {row.merchant_id or 'everybody'} {row}{until}: {row.reason} ({by})"
            )

    def add(self, options: dict[str, Any]) -> None:
        """Add an entry."""
        merchant, value, shown = _target(options)
        days = options["days"]
        entry = BlockEntry(
            options["list"],
            options["kind"],
            value,
            _reason(options),
            expires_at=clock.now() + timedelta(days=days) if days else None,
            shown=shown,
        )
        row = lists.add(self._operator(), merchant, entry)
        self.stdout.write(f"{row.pk} {row}")

    def remove(self, options: dict[str, Any]) -> None:
        """Take an entry off."""
        lists.remove(self._operator(), options["id"], reason=_reason(options))
        self.stdout.write(f"{options['id']} is removed.")

    def _operator(self) -> User:
        # An entry keeps who made it, in a sandbox too.
        if not self.operators:
            raise CommandError("Say which operator does this: --as E-MAIL.")
        return self.operators[0]


def _add_entry(parser: ArgumentParser) -> None:
    parser.add_argument("list", choices=ListEntry.List.values)
    parser.add_argument("kind", choices=ListEntry.Kind.values)
    parser.add_argument("value", help="an e-mail, six digits, or of a card one of its payments")
    parser.add_argument("--merchant", help="mer_…; default: every merchant; not needed for a card")
    parser.add_argument("--days", type=int, choices=range(1, 3651), metavar="DAYS", help="it holds")
    _add_reason(parser)


def _add_reason(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", required=True, help="why, in your words")


def _target(options: dict[str, Any]) -> tuple[Merchant | None, str, str]:
    """Return whose list it is, the entry's value, and how people see it."""
    merchant = _merchant(options["merchant"]) if options["merchant"] else None
    if options["kind"] != ListEntry.Kind.CARD:
        return merchant, options["value"], ""
    # A card is named by a payment: no number is typed into a shell.
    return payer_blocks.card_of(options["value"], merchant)


def _merchant(merchant_id: str) -> Merchant:
    found = Merchant.objects.filter(id=merchant_id).first()
    if found is None:
        raise CommandError("There is no such merchant.")
    return found


def _reason(options: dict[str, Any]) -> str:
    reason: str = options["reason"]
    if contains_card_number(reason) or len(reason) > REASON_MAX:
        raise CommandError(f"A reason has {REASON_MAX} characters at most, and no card number.")
    return reason
