"""The measurement: payments, reads, and the floors of both on the same servers."""

import os
from typing import NamedTuple

from bench import floor, replay, rows, statements
from bench.client import Call, Line, Seen
from bench.load import Terms, load
from bench.replay import Marks
from bench.report import Report
from bench.rows import Written
from bench.stage import Stage
from bench.statements import Statement
from devstack import demo
from devstack.console import say
from devstack.state import Refused

PATH = "/v1/payment_intents"
SUCCEEDED = {"status": "succeeded"}
# One is repeated as the floor, another tells which ids are its own. With a third, so that
# one that has more to do (such as opening a connection) can be left out.
PAYMENTS_LOOKED_AT = 3


class Looked(NamedTuple):
    """What two payments and a read asked of the databases."""

    payment: list[Statement]
    other_payment: list[Statement]
    read: list[Statement]
    marks: dict[str, Marks]


class Served(NamedTuple):
    """What the service did; `written` is what each payment wrote, by process."""

    paid: Seen
    read: Seen
    looked: Looked
    written: dict[str, Written]


def measure(stage: Stage, terms: Terms) -> Report:
    """Measure one thing after the other, so that none shares the machine with its floor.

    :raises Refused: an answer was wrong, or a floor is not the payment's.
    """
    pay = Call(
        port=stage.ports.web,
        path=PATH,
        expected=SUCCEEDED,
        secret_key=stage.open_merchant(),
        body=demo.first_payment(),
    )
    served = _serve(stage, pay, terms)
    with stage.bare_view():
        bare = load(stage, Call(pay.port, "/", SUCCEEDED), terms)
    floors = {who: _floor(stage, who, served, terms) for who in stage.databases}
    return _report(terms, served, bare, floors)


def _serve(stage: Stage, pay: Call, terms: Terms) -> Served:
    changed_before = {who: rows.changed(url) for who, url in stage.databases.items()}
    with stage.service():
        _ask(pay)  # The first is unlike the others: it opens the merchant's accounts.
        held_before = {who: rows.held(url) for who, url in stage.databases.items()}
        paid = load(stage, pay, terms)
        held = {who: rows.held(url) for who, url in stage.databases.items()}
        show = _show(pay, paid.last_id)
        read = load(stage, show, terms)
        looked = _look(stage, pay, show)
    payments = 1 + paid.answers + PAYMENTS_LOOKED_AT
    written = {
        who: Written(
            added=rows.added_by_each(held_before[who], held[who], paid.answers),
            changed=rows.changed_by_each(changed_before[who], rows.changed(url), payments),
        )
        for who, url in stage.databases.items()
    }
    return Served(paid, read, looked, written)


def _show(pay: Call, payment_id: str) -> Call:
    expected = {**SUCCEEDED, "id": payment_id}
    return Call(pay.port, f"{PATH}/{payment_id}", expected, pay.secret_key)


def _ask(call: Call) -> None:
    line = Line(call.port)
    try:
        problem = call.problem(*line.ask(call.request()))
    finally:
        line.close()
    if problem:
        raise Refused(f"An answer of {call.path} was wrong: {problem}.")


def _look(stage: Stage, pay: Call, show: Call) -> Looked:
    marks = {who: replay.mark_sequences(url) for who, url in stage.databases.items()}
    with statements.logged(stage.places.database_url):
        payments = [
            statements.during(stage.postgres_log, lambda: _ask(pay))
            for _ in range(PAYMENTS_LOOKED_AT)
        ]
        read = statements.during(stage.postgres_log, lambda: _ask(show))
    plain, other, *_ = sorted(payments, key=len)
    return Looked(plain, other, read, marks)


def _floor(stage: Stage, who: str, served: Served, terms: Terms) -> float:
    """Return how often per second a database can write what one payment writes there."""
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
    return floor.per_second(stage, url, script, clients=terms.clients, seconds=terms.seconds)


def _of(who: str, asked: list[Statement]) -> list[Statement]:
    found = [statement for statement in asked if statement.who == who]
    if not found:
        raise Refused(f"PostgreSQL's log names no statement of {who}: is PGAPPNAME overruled?")
    return found


def _report(terms: Terms, served: Served, bare: Seen, floors: dict[str, float]) -> Report:
    paid, read, looked = served.paid, served.read, served.looked
    web, bank = served.written["web"], served.written["bank"]
    return Report(
        cores=os.cpu_count() or 1,
        load_before=terms.load_before,
        clients=terms.clients,
        seconds=terms.seconds,
        payments_per_second=paid.per_second,
        payment_p50_ms=paid.p50_ms,
        payment_p99_ms=paid.p99_ms,
        retrieves_per_second=read.per_second,
        retrieve_p50_ms=read.p50_ms,
        retrieve_p99_ms=read.p99_ms,
        payment_floor_per_second=floors["web"],
        bank_floor_per_second=floors["bank"],
        retrieve_floor_per_second=bare.per_second,
        payment_to_floor=paid.per_second / floors["web"],
        retrieve_to_floor=read.per_second / bare.per_second,
        statements_per_payment=len(_of("web", looked.payment)),
        statements_per_retrieve=len(_of("web", looked.read)),
        commits_per_payment=len(replay.transactions(_of("web", looked.payment))),
        rows_added_per_payment=web.added.total(),
        rows_changed_per_payment=web.changed.total(),
        bank_statements_per_payment=len(_of("bank", looked.payment)),
        bank_commits_per_payment=len(replay.transactions(_of("bank", looked.payment))),
        bank_rows_added_per_payment=bank.added.total(),
        payment_clients_cpu_share=paid.cpu_share,
        retrieve_clients_cpu_share=read.cpu_share,
        floor_clients_cpu_share=bare.cpu_share,
        answers=paid.answers + read.answers + bare.answers,
        errors=0,  # One would have ended the measurement.
    )
