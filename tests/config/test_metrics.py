"""Metrics: each one moves with what it counts, and none names a merchant, card or person."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.conf import settings as installed
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import ResolverMatch, get_resolver

from acquirers import declines, slots
from api import idempotency
from audit.gauges import Gauges
from config import request_counts
from config.beat import EVERY
from config.celery import note_failed_round
from core import context, heartbeat, metrics
from core.circuit import Circuit
from core.metrics import Counter, Label
from core.postgresql import base as engine
from core.rest.error_codes import entries
from devstack.state import ROOT
from events.transitions import MOVED, TABLES
from ledger.tasks import settle_due
from merchants.models import IdempotencyKey
from tests.stage import scrapes
from tests.stage.all_taken import all_slots_taken
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.deliveries import delivery, real_now
from tests.stage.draining import endpoint_at, run_until, tell, until
from tests.stage.factories import DECLINED_CARD, GOOD_CARD
from tests.stage.receivers import receiver
from tests.stage.scrapes import counting, revealing, value
from tests.stage.shared_connections import sharing, then_giving_back
from tests.stage.sweeper import Died, dies
from tests.stage.transfers import pay_out, rich, sent
from webhooks.delivery.messages import Answer
from webhooks.delivery.outage import OutageDetector
from webhooks.models import Lane, SigningSecret

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


class World(NamedTuple):
    acme: ApiClient
    bank: BankTransport
    settings: Any
    patched: pytest.MonkeyPatch


@pytest.fixture
def world(
    acme: ApiClient, bank: BankTransport, settings: Any, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[World]:  # fmt: skip
    with counting(tmp_path):
        yield World(acme, bank, settings, monkeypatch)


# --- Acts ---------------------------------------------------------------------------------------


def pay(world: World) -> None:
    assert world.acme.pay()["status"] == "succeeded"


def decline(world: World) -> None:
    assert world.acme.pay(DECLINED_CARD)["status"] == "requires_payment_method"


def pay_money_out(world: World) -> None:
    sent(pay_out(rich(world.acme))["id"])


def repeat(world: World) -> None:
    for _ in range(2):
        world.acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")


def take_over(world: World) -> None:
    with dies(idempotency, "save_answer"), pytest.raises(Died):
        world.acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")
    IdempotencyKey.objects.update(lease_until=real_now())
    assert world.acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k").status == 200


def ask_too_often(world: World) -> None:
    world.settings.RATE_LIMIT_PER_SECOND = 1
    assert 429 in [world.acme.get("/v1/balance").status for _ in range(3)]


def find_no_slot(world: World) -> None:
    world.patched.setattr(slots, "MERCHANT_WAITS_SECONDS", 0)
    with all_slots_taken():
        assert world.acme.pay().status == 503


def open_circuit(world: World) -> None:
    with suppress(ValueError):
        Circuit("redis", failure=ValueError, times=1, seconds=60).call(lambda: int("none"))


def share_connections(world: World) -> None:
    with sharing(1):
        then_giving_back(lambda: world.acme.get("/v1/balance"))()


def wait_in_vain(world: World) -> None:
    world.patched.setattr(engine, "PATIENCE_SECONDS", 0.01)
    with sharing(1):
        then_giving_back(lambda: world.acme.get("/v1/balance"))()
        held = connection.pool.getconn()
        try:
            assert world.acme.get("/v1/balance").status == 503
        finally:
            connection.pool.putconn(held)


def deliver(world: World) -> None:
    with receiver() as theirs:
        tell(endpoint_at(theirs, world.settings).merchant)
        run_until(lambda: not Lane.objects.exists())


def lose_a_secret(world: World) -> None:
    with receiver() as theirs:
        tell(endpoint_at(theirs, world.settings).merchant)
        SigningSecret.objects.all().delete()
        run_until(lambda: value(scrapes.own(), "pay_webhook_unsigned_total"))


def lose_the_network(world: World) -> None:
    outages = OutageDetector(hold_seconds=5.0, now=lambda: 1000.0)
    for number in range(6):
        ids = {"endpoint_id": f"we_{number}", "merchant_id": f"mer_{number // 2}"}
        lost = delivery(f"https://host{number}.example/", **ids)
        outages.take(Answer(lost, None, None, "dns_error", real_now(), 10, False))
    outages.judge()


def have_another_time(world: World) -> None:
    world.patched.setattr(heartbeat, "now", lambda: real_now() + timedelta(hours=1))
    heartbeat.write_down("sender")
    heartbeat.begin()
    until(lambda: value(scrapes.own(), "pay_clocks_wrong") == 1)
    heartbeat.end()


def do_a_round(world: World) -> None:
    settle_due.apply()
    note_failed_round(sender=settle_due)


Act = Callable[[World], None]
POST = {"route": "v1/payment_intents", "method": "POST"}
ASKED = {"terminal": "sandbox", "operation": "authorize"}
# The series that each act has to move: every metric is here once or more.
MOVES: list[tuple[Act, str, dict[str, str]]] = [
    (pay, "pay_requests_total", {**POST, "status": "200", "code": "none"}),
    (pay, "pay_request_seconds_count", POST),
    (pay, "pay_request_wait_seconds_count", {}),
    (pay, "pay_status_changes_total", {"object": "payment", "after": "succeeded"}),
    (pay, "pay_bank_calls_total", {**ASKED, "result": "approved"}),
    (pay, "pay_bank_call_seconds_count", ASKED),
    (pay, "pay_bank_slots", {}),
    (find_no_slot, "pay_bank_slot_refusals_total", {}),
    (find_no_slot, "pay_requests_total", {**POST, "status": "503", "code": "upstream_unavailable"}),
    (decline, "pay_attempts_failed_total", {"reason": "generic_decline"}),
    (decline, "pay_bank_calls_total", {**ASKED, "result": "declined"}),
    (pay_money_out, "pay_transfers_total", {"operation": "send", "result": "pending"}),
    (repeat, "pay_idempotency_total", {"ended": "replayed"}),
    (take_over, "pay_idempotency_total", {"ended": "taken_over"}),
    (ask_too_often, "pay_rate_refusals_total", {"counted": "requests"}),
    (open_circuit, "pay_circuit_opened_total", {"circuit": "redis"}),
    (open_circuit, "pay_circuit_open", {"circuit": "redis"}),
    (share_connections, "pay_database_wait_seconds_count", {}),
    (wait_in_vain, "pay_database_wait_refused_total", {}),
    (deliver, "pay_webhook_attempts_total", {"result": "succeeded"}),
    (deliver, "pay_webhook_lag_seconds_count", {}),
    (lose_a_secret, "pay_webhook_unsigned_total", {}),
    (lose_the_network, "pay_webhook_pauses_total", {}),
    (lose_the_network, "pay_webhooks_paused", {}),
    (have_another_time, "pay_clocks_wrong", {}),
    (
        do_a_round,
        "pay_task_rounds_total",
        {"task": "ledger.tasks.settle_due", "result": "succeeded"},
    ),
    (do_a_round, "pay_task_rounds_total", {"task": "ledger.tasks.settle_due", "result": "failed"}),
]
# Its rise and fall are in a test of their own.
ELSEWHERE = {"pay_bank_slots_in_use"}


@pytest.mark.parametrize("act", list(dict.fromkeys(move[0] for move in MOVES)))
def test_each_metric_moves_with_what_it_counts(act: Act, world: World) -> None:
    expected = [(name, labels) for by, name, labels in MOVES if by is act]
    before = scrapes.own()

    act(world)

    found = scrapes.own()
    still = [
        (name, labels)
        for name, labels in expected
        if not value(found, name, **labels) > value(before, name, **labels)
    ]
    assert expected
    assert still == []
    assert revealing(found) == []


def test_every_declared_metric_is_moved_by_an_act() -> None:
    moved = {name.removesuffix("_count") for _act, name, _labels in MOVES} | ELSEWHERE
    declared = {name for name in metrics.ALL if name.startswith("pay_")}

    assert len(declared) > 20
    assert declared - moved == set()


def test_a_slot_is_in_use_while_a_bank_is_asked(world: World) -> None:
    seen: list[float] = []
    authorize = world.bank.send

    def look(*given: Any, **options: Any) -> Any:
        seen.append(value(scrapes.own(), "pay_bank_slots_in_use"))
        return authorize(*given, **options)

    world.patched.setattr(world.bank, "send", look)
    pay(world)

    assert seen == [1]
    assert value(scrapes.own(), "pay_bank_slots_in_use") == 0


# --- What no label has -------------------------------------------------------------------------


def test_an_address_that_a_client_invents_is_no_label(world: World) -> None:
    for path in (f"/v1/{GOOD_CARD}", "/v1/payment_intents/pi_0123456789abcdef", "/x/../y%00"):
        world.acme.http.get(path)
        world.acme.http.generic("INVENTED", path)

    found = scrapes.own()
    texts = {text for series in found for _label, text in series.labels}
    assert value(found, "pay_requests_total") == 6
    assert "INVENTED" not in texts
    assert revealing(found) == []


def test_names_of_the_code_and_of_operators_are_shown() -> None:
    codes = {entry.code for entry in entries()} | {
        *declines.EXPLAINED_CODES,
        *declines.EXPLAINED_DECLINE_CODES,
    }
    statuses = {
        status for table in TABLES.values() for pair in table.pairs for status in pair
    } | set(TABLES)
    terminals = {"main_installments", "garanti-1"}
    names = codes | statuses | set(EVERY) | terminals

    assert {"balance_insufficient", "requires_confirmation"} <= names
    assert len(names) > 120
    assert [name for name in sorted(names) if Label().shown(name) != name] == []


def test_whoever_walks_over_all_addresses_hides_none_of_the_api(world: World) -> None:
    routes = sorted(_routes(get_resolver().url_patterns))
    for route in [*routes, *reversed(routes)]:
        note_route(route)

    found = scrapes.own()
    shown = {
        dict(series.labels)["route"] for series in found if series.name == "pay_requests_total"
    }
    of_desk = {route for route in routes if route.startswith("admin/")}
    assert len(of_desk) > 200
    assert shown == {route or "/" for route in routes if route not in of_desk} | {"admin/"}
    assert {"v1/balance_transactions"} <= shown
    assert revealing(found) == []


@pytest.mark.parametrize(
    "planted",
    ["pi_0123456789abcdef", GOOD_CARD, "sk_test_0123456789abcdef", "ayse@acme.example", "a b", "é"],
)
def test_a_name_that_is_none_is_shown_as_other(planted: str) -> None:
    assert Label().shown(planted) == "other"


def note_route(route: str) -> None:
    """Count a request to a route, as one to an address of it is counted."""
    request = RequestFactory().get("/")
    request.resolver_match = ResolverMatch(lambda: None, (), {}, route=route)
    with context.work() as work:
        request_counts.note(request, HttpResponse(), work, seconds=0.01)


def _routes(patterns: Any, before: str = "") -> Iterator[str]:
    for one in patterns:
        route = before + str(one.pattern)
        if hasattr(one, "url_patterns"):
            yield from _routes(one.url_patterns, route)
        else:
            yield route


def test_the_look_for_secrets_finds_one_that_is_planted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Label, "shown", lambda _label, given: given)
    planted = Counter("test_planted_total", "Planted.", who=Label())
    try:
        planted.count(world.acme.merchant.id)
        assert [series.name for series in revealing(scrapes.own())] == ["test_planted_total"]
    finally:
        del metrics.ALL["test_planted_total"]


def test_a_label_has_no_more_than_200_names() -> None:
    label = Label()

    shown = {label.shown(f"name{number}") for number in range(500)}

    assert len(shown) == 201


def test_nothing_is_counted_while_metrics_are_off(acme: ApiClient, bank: BankTransport) -> None:
    assert installed.METRICS_BIND == ""
    acme.pay()

    assert not metrics.is_on()
    assert all(metric._made is None for metric in metrics.ALL.values())


def test_a_change_that_is_rolled_back_is_not_counted(world: World) -> None:
    with suppress(ZeroDivisionError), transaction.atomic():
        MOVED.count_after_commit("payment", "processing", "succeeded")
        _ = 1 / 0

    assert value(scrapes.own(), "pay_status_changes_total") == 0


def test_a_disk_that_takes_no_counts_fails_no_payment(world: World) -> None:
    def full(*_given: Any) -> None:
        raise OSError(28, "No space left on device")

    world.patched.setattr(metrics.Metric, "series", full)

    pay(world)
    assert not metrics.is_on()


def test_the_public_address_has_no_metrics(world: World) -> None:
    assert world.acme.http.get("/metrics").status_code == 404


# --- The page -----------------------------------------------------------------------------------


def test_the_page_has_a_row_for_each_metric_with_its_labels() -> None:
    page = (ROOT / "docs/operate/watch.md").read_text()
    rows = re.findall(r"^\| `(pay_\w+)` \| (?:`([a-z ]+)`)? ?\| \S", page, re.MULTILINE)
    told = {name: labels.split() for name, labels in rows}
    counted = {
        name: list(metric.labels) for name, metric in metrics.ALL.items() if name.startswith("pay_")
    }
    read = {family.name: list(family._labelnames) for family in Gauges().collect()}

    assert len(counted) > 20
    assert len(read) > 10
    assert told == counted | read
