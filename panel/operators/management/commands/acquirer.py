"""Set up the contracts with banks: terminals, and the routes of payments to them."""

import sys
from argparse import ArgumentTypeError
from typing import Any

import orjson
from django.core.management.base import CommandError, CommandParser

from acquirers import routes, terminals
from acquirers.models import Route, Terminal
from acquirers.set_up import SetUpRefused
from api.commands import AuditedCommand
from merchants.models import Merchant

MOVES = {
    "enable": Terminal.Status.ENABLED,
    "drain": Terminal.Status.DRAINING,
    "disable": Terminal.Status.DISABLED,
}
HELP_OF = {
    "check": "ask its bank for an order that cannot exist",
    "enable": "let it take new payments again",
    "drain": "let it finish its payments, and take no new ones",
    "disable": "ask its bank nothing at all",
}
LIMITS = ("currencies", "brands")
DOMESTIC = {"yes": True, "no": False}


class Command(AuditedCommand):
    permission = "acquirers.manage_terminals"
    reading = frozenset({"list", "check"})
    help = "List terminals, set one up, route payments to it, try it, drain or disable it."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        listed = steps.add_parser("list", help="terminals and routes; never a secret")
        listed.add_argument("--json", action="store_true", dest="as_json", help="for programs")
        setting = steps.add_parser("set", help="add a terminal, or replace all of its values")
        setting.add_argument("name")
        setting.add_argument("--merchant", help="mer_…, whose contract it is; else everybody's")
        _route(steps.add_parser("route", help="let payments go to a terminal, or no longer"))
        for step in ("check", *MOVES):
            steps.add_parser(step, help=HELP_OF[step]).add_argument("name")

    def handle(self, *_args: Any, **options: Any) -> None:
        step = options["step"]
        try:
            if step in MOVES:
                terminals.move(_terminal(options["name"]), MOVES[step])
            else:
                getattr(self, f"_{step}")(options)
        except SetUpRefused as refusal:
            raise CommandError(str(refusal)) from refusal

    def _list(self, options: dict[str, Any]) -> None:
        found = [_shown(one) for one in Terminal.objects.order_by("name")]
        if options["as_json"]:
            self.stdout.write(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
            return
        for one in found:
            whose = one["merchant"] or "everybody's"
            self.stdout.write(f"{one['name']}  {one['kind']}  {one['status']}  {whose}")
            for route in one["routes"]:
                self.stdout.write(f"    {route}")

    def _set(self, options: dict[str, Any]) -> None:
        given = _given()
        limits = {name: given.pop(name) for name in LIMITS if name in given}
        kind, merchant = given.pop("kind", None), _merchant(options)
        values = {**given.pop("credentials", {}), **given}
        known = Terminal.objects.filter(name=options["name"]).first()
        if known is None:
            terminals.add(
                options["name"], kind=str(kind), values=values, merchant=merchant, **limits
            )
            self.stdout.write("Added. It gets payments once a route leads to it.")
            return
        if kind not in (None, known.kind) or (merchant and merchant.id != known.merchant_id):
            raise SetUpRefused("A terminal keeps its kind and its merchant. Add another one.")
        terminals.replace(known, values, **limits)
        self.stdout.write("Replaced. Each process uses the new values with its next call.")

    def _route(self, options: dict[str, Any]) -> None:
        terminal, merchant = _terminal(options["name"]), _merchant(options)
        first, last = options["installments"] or (1, None)
        conditions = {
            **{name: options[name] for name in ("currency", "brand", "program")},
            "domestic": DOMESTIC.get(options["domestic"]),
            "installments_from": first,
            "installments_to": last,
        }
        priority = options["priority"]
        if options["remove"]:
            found = Route.objects.filter(
                terminal=terminal, merchant=merchant, priority=priority, **conditions
            ).first()
            if found is None:
                raise SetUpRefused("There is no such route. `acquirer list` shows those there are.")
            routes.remove(found)
            return
        routes.add(terminal, merchant=merchant, priority=priority, **conditions)

    def _check(self, options: dict[str, Any]) -> None:
        problem = terminals.problem_of(_terminal(options["name"]))
        if problem:
            raise CommandError(problem)
        self.stdout.write("The bank answers: address, TLS and credentials are right.")


def _route(parser: CommandParser) -> None:
    parser.add_argument("name")
    parser.add_argument("--merchant", help="mer_…, whose payments; else everybody's")
    parser.add_argument("--currency", help="such as try; else every one")
    parser.add_argument("--brand", help="such as visa; else every one")
    parser.add_argument("--domestic", choices=DOMESTIC, help="cards of the merchant's country")
    parser.add_argument("--program", help="of installments, such as bonus; else every one")
    parser.add_argument("--installments", type=_range, help="a count or a range: 1, 2-12, 2-")
    parser.add_argument(
        "--priority", type=int, default=routes.PRIORITY, help="the lowest number comes first"
    )
    parser.add_argument("--remove", action="store_true", help="the route with these conditions")


def _range(text: str) -> tuple[int, int | None]:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise ArgumentTypeError("a count or a range, such as 1, 2-12 or 2-")
    if not dash:
        return int(first), int(first)
    return int(first), int(last) if last else None


def _given() -> dict[str, Any]:
    """Read a terminal's values; secrets come by standard input, for arguments are public."""
    try:
        given = orjson.loads(sys.stdin.read())
    except orjson.JSONDecodeError as problem:
        raise SetUpRefused("Standard input is no JSON.") from problem
    if not isinstance(given, dict) or not isinstance(given.get("credentials", {}), dict):
        raise SetUpRefused("Standard input is no JSON object, or its credentials are none.")
    return given


def _terminal(name: str) -> Terminal:
    found = Terminal.objects.filter(name=name).first()
    if found is None:
        raise SetUpRefused("There is no terminal of that name.")
    return found


def _merchant(options: dict[str, Any]) -> Merchant | None:
    if not options["merchant"]:
        return None
    found: Merchant | None = Merchant.objects.filter(id=options["merchant"]).first()
    if found is None:
        raise SetUpRefused("There is no merchant with that id.")
    return found


def _shown(terminal: Terminal) -> dict[str, Any]:
    rules = terminal.routes.order_by("merchant", "priority", "id")
    return {**terminals.shown(terminal), "routes": [str(rule) for rule in rules]}
