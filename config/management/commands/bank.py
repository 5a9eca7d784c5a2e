"""Let the sandbox's bank decide, by the service's ids: `manage.py bank win dp_…`."""

import re
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.module_loading import import_string

from config import bank_doors
from core import context
from core.detection import contains_card_number
from merchants.models import Merchant
from payments.intents.models import Attempt


def _charge_of(payment: str) -> str | None:
    charged = Attempt.objects.filter(intent=payment, captured_minor__gte=1)
    return charged.values_list("acquirer_reference", flat=True).first()


def _approval_of(payment: str) -> str | None:
    tried = Attempt.objects.filter(intent=payment).order_by("-created_at")
    return tried.values_list("acquirer_reference", flat=True).first()


def _dispute(dispute: str) -> str | None:
    return _named("disputes.Dispute", "bank_reference", dispute)


def _refund(refund: str) -> str | None:
    return _named("refunds.Refund", "acquirer_reference", refund)


def _named(model: str, column: str, wanted: str) -> str | None:
    rows: Any = apps.get_model(model)._default_manager
    return rows.filter(id=wanted).values_list(column, flat=True).first()


def _transfer_in(topup: str) -> str | None:
    rows: Any = apps.get_model("topups.IncomingTransfer")._default_manager
    return rows.filter(topup=topup).values_list("reference", flat=True).first()


class BankCommand(NamedTuple):
    """One command to the test bank.

    :param of: finds the bank's reference by the service's id.
    """

    help: str
    id: str
    of: Callable[[str], str | None]


DECISIONS = {
    "win": BankCommand("decide an open dispute for the merchant", "dp_…", _dispute),
    "lose": BankCommand("decide an open dispute for the cardholder", "dp_…", _dispute),
    "escalate": BankCommand("make an inquiry a dispute", "dp_…", _dispute),
    "regain": BankCommand("decide a lost dispute for the merchant after all", "dp_…", _dispute),
    "end": BankCommand("end an inquiry", "dp_…", _dispute),
    "dispute": BankCommand("open a dispute about a payment", "pi_…", _charge_of),
    "inquiry": BankCommand("open an inquiry about a payment", "pi_…", _charge_of),
    "reverse": BankCommand("let the bank take an approved payment back", "pi_…", _approval_of),
    "take_back": BankCommand("take the transfer of a topup back", "tu_…", _transfer_in),
    "bounce": BankCommand("let a refund that succeeded come back", "re_…", _refund),
}
OPENING = ("dispute", "inquiry")
TRANSFER_IN, MISBEHAVE, DOOR = "transfer_in", "misbehave", "door"
AMOUNT_MAX_MINOR, TEXT_MAX = 10**15, 140
# The bank keeps no text with so many digits.
LIKE_A_CARD = re.compile(r"[0-9]{13}")


class Command(BaseCommand):
    help = "Let the sandbox's bank decide; the service hears of it by the bank's notices."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        decisions = parser.add_subparsers(dest="decision", required=True)
        for name, decision in DECISIONS.items():
            one = decisions.add_parser(name, help=decision.help)
            one.add_argument("id", help=decision.id)
            if name in OPENING:
                _add_terms(one)
        _add_misbehaviour(decisions.add_parser(MISBEHAVE, help="let the bank do something wrong"))
        _add_transfer(decisions.add_parser(TRANSFER_IN, help="send a transfer to the bank"))
        door = decisions.add_parser(DOOR, help="lead a merchant's payments to one of its doors")
        door.add_argument("door", choices=bank_doors.DOORS)
        door.add_argument("--merchant", required=True, help="mer_…")

    def handle(self, *_args: Any, **options: Any) -> None:
        if settings.LIVEMODE:
            raise CommandError("A live installation's banks decide by themselves.")
        if own := {
            TRANSFER_IN: self._receive,
            MISBEHAVE: self._misbehave,
            DOOR: self._lead,
        }.get(options["decision"]):
            own(options)
            return
        name, wanted = options["decision"], options["id"]
        reference = DECISIONS[name].of(wanted)
        if reference is None:
            raise CommandError(f"There is nothing that the bank could {name} under {wanted}.")
        terms = {term: options.get(term) for term in ("reason", "amount")}
        said = {term: value for term, value in terms.items() if value is not None}
        # By its name: a live installation does not have the test bank's tables.
        decide = import_string(f"testbank.decisions.{name}")
        try:
            with context.work():
                decide(reference, **said)
        except import_string("testbank.decisions.Undecidable") as refusal:
            raise CommandError(f"{refusal}.") from refusal
        self.stdout.write(f"{name} {wanted}: done. The bank tells of it within seconds.")

    def _misbehave(self, options: dict[str, Any]) -> None:
        kind, times = options["kind"], options["times"]
        plan = import_string("testbank.misbehaviours.plan")
        try:
            plan(kind, times=times, on=options["on"])
        except import_string("testbank.misbehaviours.UnknownMisbehaviour") as refusal:
            raise CommandError(f"{refusal}.") from refusal
        self.stdout.write(f"{kind}: planned {times} times.")

    def _lead(self, options: dict[str, Any]) -> None:
        merchant = Merchant.objects.filter(id=options["merchant"]).first()
        if merchant is None:
            raise CommandError("--merchant: there is no such merchant.")
        with context.work():
            bank_doors.lead(merchant, options["door"])
        self.stdout.write(f"New payments of {merchant.id} go through the door {options['door']}.")

    def _receive(self, options: dict[str, Any]) -> None:
        if not 1 <= options["amount"] <= AMOUNT_MAX_MINOR:
            raise CommandError(f"--amount: 1 to {AMOUNT_MAX_MINOR}, in minor units.")
        text = options["text"]
        if contains_card_number(text) or LIKE_A_CARD.search(text) or not text.isprintable():
            raise CommandError("--text: one line, without a card number.")
        receive = import_string("testbank.incoming.receive")
        reference = receive(
            amount=options["amount"],
            currency=options["currency"],
            remittance=text[:TEXT_MAX],
        )
        self.stdout.write(f"{reference}: done. The bank tells of it within seconds.")


def _add_misbehaviour(parser: ArgumentParser) -> None:
    parser.add_argument("kind", help="such as silent, cut, CORE-2254; an unknown one lists all")
    parser.add_argument("--times", type=int, default=1, help="how many requests; default: 1")
    parser.add_argument("--on", default="", help="the type of the request, such as Void or void")


def _add_transfer(parser: ArgumentParser) -> None:
    parser.add_argument("--amount", type=int, required=True, help="in minor units")
    parser.add_argument("--currency", choices=settings.CURRENCIES, default="try")
    parser.add_argument("--text", default="", help="such as the reference of a topup")


def _add_terms(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", help="such as product_not_received")
    parser.add_argument("--amount", type=int, help="in minor units; default: all that is left")
