"""The measurement: payments, reads, and the floors of both on the same servers."""

import json
from typing import Any, NamedTuple

from bench import floor, replay, report, rows, sql_log
from bench.client import ClientCall, Line
from bench.floor import Floor
from bench.load import LoadTerms, Measured, load
from bench.replay import Marks
from bench.report import Figures
from bench.rows import Written
from bench.sql_log import SqlCommand
from bench.stage import Stage
from devstack import demo
from devstack.console import say
from devstack.state import CannotContinue

PATH = "/v1/payment_intents"
LIST = f"{PATH}?limit=100"
SUCCEEDED = {"status": "succeeded"}
# One is repeated as the floor, another tells which ids are its own. With a third, so that
# one that has more to do (such as opening a connection) can be left out.
PAYMENTS_LOOKED_AT = 3


class Looked(NamedTuple):
    """The SQL of two payments and of a read, and the sequences' values before it.

    The second payment shows which ids are the first one's own: those that both have are not.
    """

    payment: list[SqlCommand]
    other_payment: list[SqlCommand]
    read: list[SqlCommand]
    marks: dict[str, Marks]


class Served(NamedTuple):
    """The measured service; `written` are the rows of a payment, by the process that wrote them."""

    paid: Measured
    read: Measured
    listed: Measured
    looked: Looked
    written: dict[str, Written]


def measure(stage: Stage, terms: LoadTerms) -> Figures:
    """Measure one thing after the other, so that none shares the machine with its floor.

    :raises CannotContinue: an answer was wrong, or a floor is not the payment's.
    """
    pay = ClientCall(
        port=stage.ports.web,
        path=PATH,
        expected=SUCCEEDED,
        secret_key=stage.open_merchant()["secret_key"],
        body=demo.first_payment(),
    )
    served = _serve(stage, pay, terms)
    with stage.bare_view():
        bare = load(stage, ClientCall(pay.port, "/", SUCCEEDED), terms)
    floors = {who: _floor(stage, who, served, terms) for who in stage.databases}
    return _figures(served, bare, floors)


def list_of(pay: ClientCall) -> ClientCall:
    """Return the call that reads a page of a hundred payments."""
    return ClientCall(pay.port, LIST, {"object": "list"}, pay.secret_key)


def _serve(stage: Stage, pay: ClientCall, terms: LoadTerms) -> Served:
    changed_before = {who: rows.changed(url) for who, url in stage.databases.items()}
    with stage.service():
        ask(pay)  # The first is unlike the others: it opens the merchant's accounts.
        held_before = {who: rows.held(url) for who, url in stage.databases.items()}
        paid = load(stage, pay, terms)
        held = {who: rows.held(url) for who, url in stage.databases.items()}
        assert paid.seen.last_id is not None  # `load` has refused wrong answers.
        shown = show(pay, paid.seen.last_id)
        read = load(stage, shown, terms)
        listed = load(stage, list_of(pay), terms)
        looked = _look(stage, pay, shown)
    payments = 1 + paid.seen.answers + PAYMENTS_LOOKED_AT
    written = {
        who: Written(
            added=rows.added_by_each(held_before[who], held[who], paid.seen.answers),
            changed=rows.changed_by_each(changed_before[who], rows.changed(url), payments),
        )
        for who, url in stage.databases.items()
    }
    return Served(paid, read, listed, looked, written)


def show(pay: ClientCall, payment_id: str) -> ClientCall:
    """Return the call that reads a payment of the merchant that pays."""
    expected = {**SUCCEEDED, "id": payment_id}
    return ClientCall(pay.port, f"{PATH}/{payment_id}", expected, pay.secret_key)


def ask(call: ClientCall) -> dict[str, Any]:
    """Make a call once; return the body of the answer.

    :raises CannotContinue: it was wrong.
    """
    line = Line(call.port)
    try:
        status, content = line.ask(call.request())
    finally:
        line.close()
    if problem := call.problem(status, content):
        raise CannotContinue(f"An answer of {call.path} was wrong: {problem}.")
    return json.loads(content)


def _look(stage: Stage, pay: ClientCall, shown: ClientCall) -> Looked:
    marks = {who: replay.mark_sequences(url) for who, url in stage.databases.items()}
    with sql_log.logged(stage.places.database_url):
        payments = [
            sql_log.during(stage.postgres_log, lambda: ask(pay)) for _ in range(PAYMENTS_LOOKED_AT)
        ]
        read = sql_log.during(stage.postgres_log, lambda: ask(shown))
    plain, other, *_ = sorted(payments, key=len)
    return Looked(plain, other, read, marks)


def _floor(stage: Stage, who: str, served: Served, terms: LoadTerms) -> Floor:
    """Measure how fast a database can write what one payment writes there."""
    looked, url = served.looked, stage.databases[who]
    script = stage.directory / f"{who}.sql"
    script.write_text(
        replay.script(
            replay.transactions(_of(who, looked.payment)),
            other=replay.transactions(_of(who, looked.other_payment)),
            marks=looked.marks[who],
        )
    )
    rows.require_same(served.written[who], floor.trial(stage, url, script))
    say("bench", f"pgbench writes what a payment leaves in the {who} process's database")
    return floor.measured(stage, url, script, clients=terms.clients, seconds=terms.seconds)


def _of(who: str, asked: list[SqlCommand]) -> list[SqlCommand]:
    found = [command for command in asked if command.who == who]
    if not found:
        raise CannotContinue(
            f"PostgreSQL's log names no statement of {who}: is PGAPPNAME overruled?"
        )
    return found


def _figures(served: Served, bare: Measured, floors: dict[str, Floor]) -> Figures:
    paid, read, looked = served.paid, served.read, served.looked
    return {
        **report.speed("payment", paid),
        **report.speed("retrieve", read),
        **report.speed("list", served.listed),
        **report.speed("bare", bare),
        **report.floor_speed("payment_floor", floors["web"]),
        **report.floor_speed("bank_floor", floors["bank"]),
        "payment_to_floor": paid.seen.per_second / floors["web"].per_second,
        "retrieve_to_floor": read.seen.per_second / bare.seen.per_second,
        "payment_postgres_to_floor": _share(paid, floors["web"], "postgres"),
        "retrieve_cpu_to_bare": _share(read, bare, "web"),
        **report.work("payment", _of("web", looked.payment), served.written["web"]),
        **report.work("bank", _of("bank", looked.payment), served.written["bank"]),
        "retrieve_statements": len(_of("web", looked.read)),
        "answers": sum(one.seen.answers for one in (paid, read, served.listed, bare)),
        "errors": 0,  # One would have ended the measurement.
    }


def _share(service: Measured, base: Measured | Floor, process: str) -> float:
    """Return the CPU time of a process for the service's work, as so many of the base's."""
    return service.cpu_ms[process] / base.cpu_ms[process]
