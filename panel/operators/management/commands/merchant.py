"""Show merchants and change their terms, where no desk is at hand."""

from argparse import SUPPRESS
from typing import Any

import orjson
from django.core.management.base import CommandError, CommandParser

from api.commands import AuditedCommand
from ledger import prices
from merchants import accounts, payout_accounts, payout_schedules, risk_rules, sites
from merchants.models import CallbackUrl, Merchant, NonSecureLimit, PayoutSchedule, Website
from merchants.refusals import ChangeRefused
from merchants.team import TeamRefused
from panel.operators import opening
from webhooks import destinations

SWITCH = {"on": True, "off": False}


class Command(AuditedCommand):
    help = (
        "List merchants, show one, or change its sites, limits, plans, prices, rules about"
        " risk, schedule, payout accounts, status or owners."
    )
    permission = "merchants.change_merchant_terms"
    reading = frozenset({"list", "show"})

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        steps.add_parser("list", help="all merchants, the newest first")
        steps.add_parser("show", help="as the API shows it").add_argument("merchant")
        for step, noun in (("website", "a website"), ("callback", "a callback URL")):
            sites_parser = steps.add_parser(step, help=f"add or remove {noun}")
            sites_parser.add_argument("action", choices=("add", "remove"))
            sites_parser.add_argument("merchant")
            sites_parser.add_argument("address", help="https://…")
            _reason(sites_parser)
        _limits(steps.add_parser("limits", help="payments without 3-D Secure; balances below 0"))
        _accounts(steps.add_parser("account", help="register, remove, choose a payout account"))
        for step, noun in (
            ("plans", "installment plans"),
            ("prices", "prices of charges"),
            ("risk", "own rules about risk"),
        ):
            _rows(steps.add_parser(step, help=f"replace all its {noun}"))
        _schedule(steps.add_parser("schedule", help="when money is due and paid out"))
        _status(steps.add_parser("status", help="open, restrict or close the account"))
        _owner(steps.add_parser("owner", help="make a person an owner, where the last one is lost"))

    def handle(self, *_args: Any, **options: Any) -> None:
        step = options["step"]
        try:
            getattr(self, f"_{step}")(options)
        except ChangeRefused as refusal:
            raise CommandError(str(refusal)) from refusal
        except TeamRefused as refusal:
            raise CommandError(refusal.text) from refusal

    def _list(self, _options: dict[str, Any]) -> None:
        for row in Merchant.objects.order_by("-created_at", "-id").iterator():
            day = f"{row.created_at:%Y-%m-%d}"
            self.stdout.write(f"{row.id}  {day}  {row.status:<10}  {row.country}  {row.name}")

    def _show(self, options: dict[str, Any]) -> None:
        self._tell(_merchant(options))

    def _website(self, options: dict[str, Any]) -> None:
        self._change_sites(options, "website")

    def _callback(self, options: dict[str, Any]) -> None:
        self._change_sites(options, "callback")

    def _change_sites(self, options: dict[str, Any], noun: str) -> None:
        merchant, address = _merchant(options), options["address"]
        if options["action"] == "remove" and (site := _registered(merchant, noun, address)):
            # Before it is removed: afterwards nothing shows that they belonged to it.
            for endpoint in destinations.left_uncovered(merchant, site):
                self.stdout.write(f"Goes on without a registration: {endpoint.id} {endpoint.url}")
        self._change(merchant, options, {f"{options['action']}_{noun}": address})

    def _limits(self, options: dict[str, Any]) -> None:
        merchant, currency = _merchant(options), options["currency"].lower()
        changes: dict[str, Any] = {}
        if options["remove"]:
            changes["non_secure_limits"] = {currency: None}
        elif "per_payment" in options or "per_day" in options:
            changes["non_secure_limits"] = {currency: _limit(merchant, currency, options)}
        if "negative" in options:
            changes["negative_limits"] = {currency: options["negative"]}
        if options["non_secure"]:
            changes["non_secure_allowed"] = SWITCH[options["non_secure"]]
        if not changes:
            raise CommandError(
                "Say which limit: --non-secure, --per-payment, --per-day, --negative, --remove."
            )
        self._change(merchant, options, changes)

    def _account(self, options: dict[str, Any]) -> None:
        merchant, verb, reference = _merchant(options), options["action"], options["reference"]
        change: Any = reference
        if verb == "add":
            if not options["holder"] or not options["iban"]:
                raise CommandError("Say --holder and --iban.")
            change = {
                "reference": reference,
                "holder_name": options["holder"],
                "iban": options["iban"],
            }
        changed = accounts.change(merchant, {f"{verb}_payout_account": change}, options["reason"])
        self._tell_rows(payout_accounts.shown(changed))

    def _plans(self, options: dict[str, Any]) -> None:
        self._change(_merchant(options), options, {"installments": options["rows"]})

    def _prices(self, options: dict[str, Any]) -> None:
        merchant = accounts.change(
            _merchant(options), {"prices": options["rows"]}, options["reason"]
        )
        self._tell_rows(prices.shown(merchant))

    def _risk(self, options: dict[str, Any]) -> None:
        merchant = accounts.change(
            _merchant(options), {"risk_rules": options["rows"]}, options["reason"]
        )
        self._tell_rows(risk_rules.shown(merchant))

    def _schedule(self, options: dict[str, Any]) -> None:
        given = {name: options[name] for name in payout_schedules.NAMES if name in options}
        if not given:
            raise CommandError("Say what of the schedule changes, such as --delay-days 2.")
        self._change(_merchant(options), options, {"payout_schedule": given})

    def _status(self, options: dict[str, Any]) -> None:
        switches = {f"{name}_enabled": options[name] for name in ("charges", "payouts")}
        changes = {name: SWITCH[value] for name, value in switches.items() if value}
        self._change(_merchant(options), options, {"status": options["status"], **changes})

    def _owner(self, options: dict[str, Any]) -> None:
        said = opening.appoint_owner(_merchant(options), options["email"], reason=options["reason"])
        self.stdout.write(said)

    def _change(self, merchant: Merchant, options: dict[str, Any], changes: dict[str, Any]) -> None:
        self._tell(accounts.change(merchant, changes, options["reason"]))

    def _tell(self, merchant: Merchant) -> None:
        shown = orjson.dumps(accounts.shown(merchant), option=orjson.OPT_INDENT_2)
        self.stdout.write(shown.decode())

    def _tell_rows(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self.stdout.write(orjson.dumps(row).decode())


# --- Arguments --------------------------------------------------------------------------------


def _reason(parser: CommandParser) -> None:
    parser.add_argument("--reason", required=True, help="for the audit log")


def _limits(parser: CommandParser) -> None:
    parser.add_argument("merchant")
    parser.add_argument("--currency", required=True)
    for name, meaning in (
        ("--per-payment", "the most per payment without 3-D Secure"),
        ("--per-day", "the most per day of the account without 3-D Secure"),
        ("--negative", "how far the balance may go below zero; `none`: not at all"),
    ):
        # One that is not given is left out, and its limit stays as it is.
        parser.add_argument(
            name, type=_amount, default=SUPPRESS, metavar="N", help=f"{meaning}, or `none`"
        )
    parser.add_argument(
        "--remove", action="store_true", help="no payment without 3-D Secure in this currency"
    )
    parser.add_argument(
        "--non-secure", choices=SWITCH, help="whether any is taken without, in all currencies"
    )
    _reason(parser)


def _accounts(parser: CommandParser) -> None:
    parser.add_argument("action", choices=("add", "remove", "default"))
    parser.add_argument("merchant")
    parser.add_argument("reference", help="the name by which payouts ask for it")
    parser.add_argument("--holder", help="of the account, as its bank knows the name")
    parser.add_argument("--iban")
    _reason(parser)


def _rows(parser: CommandParser) -> None:
    parser.add_argument("merchant")
    parser.add_argument("rows", type=_json_rows, help="all of them, as a list of JSON objects")
    _reason(parser)


def _schedule(parser: CommandParser) -> None:
    parser.add_argument("merchant")
    choices: tuple[tuple[str, list[str]], ...] = (
        ("--interval", PayoutSchedule.Interval.values),
        ("--weekly-anchor", PayoutSchedule.Weekday.values),
        ("--installments", PayoutSchedule.Installments.values),
    )
    # Options that are not given are left out, and their values stay.
    for name, values in choices:
        parser.add_argument(name, choices=values, default=SUPPRESS)
    for name, meaning in (
        ("--monthly-anchor", "1 to 31; shorter months end before"),
        ("--minimum-amount", "the least payout by schedule, in minor units"),
        ("--delay-days", "business days from a capture to its money, 0 to 30"),
    ):
        parser.add_argument(name, type=int, default=SUPPRESS, metavar="N", help=meaning)
    _reason(parser)


def _status(parser: CommandParser) -> None:
    parser.add_argument("merchant")
    parser.add_argument("status", choices=Merchant.Status.values)
    parser.add_argument("--charges", choices=SWITCH)
    parser.add_argument("--payouts", choices=SWITCH)
    _reason(parser)


def _owner(parser: CommandParser) -> None:
    parser.add_argument("merchant")
    parser.add_argument("email", help="of the person, with or without an account")
    _reason(parser)


def _json_rows(text: str) -> list[dict[str, Any]]:
    rows = orjson.loads(text)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("not a list of objects")
    return rows


def _amount(text: str) -> int | None:
    return None if text == "none" else int(text)


# --- Rows -------------------------------------------------------------------------------------


def _merchant(options: dict[str, Any]) -> Merchant:
    merchant = Merchant.objects.filter(id=options["merchant"]).first()
    if merchant is None:
        raise CommandError("There is no such merchant.")
    return merchant


def _registered(merchant: Merchant, noun: str, address: str) -> Website | CallbackUrl | None:
    if noun == "website":
        return merchant.websites.filter(host=sites.website_host(address)).first()
    return merchant.callback_urls.filter(url=address).first()


def _limit(merchant: Merchant, currency: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the limits of a currency, with those that were given in the place of the old ones."""
    row = merchant.non_secure_limits.filter(currency=currency).first()
    kept = row or NonSecureLimit(per_payment=0)
    return {name: options.get(name, getattr(kept, name)) for name in ("per_payment", "per_day")}
