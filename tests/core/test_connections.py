"""Few database connections for many threads: they are lent out while a bank is waited for."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from acquirers import slots
from core import connections, context, prepared
from core.postgresql import base as engine
from core.postgresql.places import Places
from payments.intents.models import PaymentIntent
from payments.payer import returns
from tests.stage.all_taken import all_slots_taken
from tests.stage.bank_transport import BankTransport, an_order, sandbox
from tests.stage.client import ApiClient
from tests.stage.held_bank import HeldBank
from tests.stage.kills import until
from tests.stage.processes import run
from tests.stage.shared_connections import (
    sharing,
    then_giving_back,
    times_taken,
    waits_for_a_connection,
)
from tests.stage.threeds import bring, challenged, decide

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

POOL_OF = "from django.db import connection; print('shares', connection.pool is not None)"


@pytest.fixture
def one_connection(acme: ApiClient, bank: BankTransport) -> Iterator[None]:
    """All threads share one connection, which nobody has at first."""
    with sharing(1):
        yield


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def nobody_is_patient(one_connection: None, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    connections.give_back()
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.01)


def test_while_a_bank_is_waited_for_others_have_the_connection(
    acme: ApiClient, bank: BankTransport, one_connection: None, others: ThreadPoolExecutor
) -> None:
    held = HeldBank(bank)
    paying = others.submit(then_giving_back(acme.twin().pay))
    held.await_asked()

    read = then_giving_back(lambda: acme.get("/v1/payment_intents"))()

    held.answer()
    assert (read.status, [row["status"] for row in read["data"]]) == (
        200,
        ["requires_confirmation"],
    )
    assert paying.result()["status"] == "succeeded"


def test_who_waits_for_a_slot_has_no_connection_meanwhile(
    acme: ApiClient,
    one_connection: None,
    others: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slots, "MERCHANT_WAITS_SECONDS", 3600)

    with all_slots_taken():
        paying = others.submit(then_giving_back(acme.twin().pay))
        until(lambda: slots.places().waiting == 1)
        read = then_giving_back(lambda: acme.get("/v1/payment_intents"))()

    assert read.status == 200
    assert paying.result()["status"] == "succeeded"


def test_a_payer_who_pressed_twice_has_no_connection_while_the_bank_works(
    acme: ApiClient,
    bank: BankTransport,
    one_connection: None,
    others: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(returns, "SECOND_ARRIVAL_WAITS_SECONDS", 40)
    fields = decide(challenged(acme), "Approve").fields
    connections.give_back()
    held = HeldBank(bank)
    first = others.submit(then_giving_back(lambda: bring(fields)))
    held.await_asked()
    before = times_taken()
    second = others.submit(then_giving_back(lambda: bring(fields)))
    until(lambda: times_taken() > before + 3)  # It looks again and again.

    read = then_giving_back(lambda: acme.get("/v1/payment_intents"))()

    held.answer()
    assert read.status == 200
    assert {first.result().status, second.result().status} == {302}


def test_a_payment_that_comes_back_from_the_bank_waits_however_long_others_hold_the_connection(
    acme: ApiClient,
    bank: BankTransport,
    others: ThreadPoolExecutor,
    nobody_is_patient: None,
) -> None:
    held = HeldBank(bank)
    paying = others.submit(then_giving_back(acme.twin().pay))
    held.await_asked()
    connection.ensure_connection()
    before = waits_for_a_connection()
    held.answer()
    # More than once: it has outlasted the time for which others wait.
    until(lambda: waits_for_a_connection() >= before + 3 or paying.done())

    assert not paying.done()
    connections.give_back()

    assert paying.result()["status"] == "succeeded"


def test_a_request_without_a_connection_is_refused_before_anything_happens(
    acme: ApiClient, others: ThreadPoolExecutor, nobody_is_patient: None
) -> None:
    connection.ensure_connection()

    refused = others.submit(then_giving_back(acme.twin().pay)).result()

    assert refused.refusal == (503, "upstream_unavailable", None)
    assert refused.headers["Retry-After"] == "1"
    assert not PaymentIntent.objects.exists()


def test_without_a_database_nobody_waits_for_a_connection_to_it(
    one_connection: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 3600.0)
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nonexistent")

    with pytest.raises(OperationalError, match="cannot be reached"):
        connection.ensure_connection()


def test_no_bank_is_asked_inside_a_transaction(bank: BankTransport) -> None:
    with pytest.raises(RuntimeError, match="inside a transaction"), transaction.atomic():
        sandbox().inquire(an_order("ref_1"))

    assert bank.seen == []


def test_the_answer_to_a_client_that_does_not_read_it_holds_no_connection(
    acme: ApiClient, one_connection: None
) -> None:
    acme.http.get("/healthz")  # A page's answer: no row follows it.

    assert connection.connection is None


def test_what_follows_an_answer_is_as_impatient_as_ever() -> None:
    with context.work() as work:
        connections.give_back_to_ask()
        assert work.has_asked_others
        context.end()

    assert not work.has_asked_others


# --- Prepared statements ------------------------------------------------------------------------


def prepared_here() -> tuple[int, int]:
    """Return the session's number, and how many statements are prepared in it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), count(*) FROM pg_prepared_statements")
        return cursor.fetchone()


def test_a_prepared_statement_lives_on_with_the_connection(one_connection: None) -> None:
    prepared.rows("SELECT 41 + 1", {})
    before = prepared_here()
    connections.give_back()

    assert prepared.rows("SELECT 41 + 1", {}) == [(42,)]
    assert prepared_here() == before


def test_a_connection_that_has_lost_its_prepared_statements_is_given_to_nobody_else(
    one_connection: None,
) -> None:
    prepared.rows("SELECT 41 + 1", {})
    connection.connection.pgconn.exec_(b"DEALLOCATE ALL")  # Past psycopg, which would prepare anew.
    with pytest.raises(OperationalError):
        prepared.rows("SELECT 41 + 1", {})

    assert prepared.rows("SELECT 41 + 1", {}) == [(42,)]


# --- Who shares ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "shares"),
    [("import config.wsgi", True), ("import testbank.wsgi", True),
     ("import config.celery, django; django.setup()", False)],
)  # fmt: skip
def test_only_who_serves_requests_shares_connections(
    process: str, shares: bool, tmp_path: Path
) -> None:
    status, said = run("-c", f"{process}; {POOL_OF}")

    assert status == 0
    assert f"shares {shares}" in said


# --- Reads beside what changes something ------------------------------------------------------


@pytest.fixture
def four_connections(acme: ApiClient, bank: BankTransport) -> Iterator[Places]:
    """All threads share four connections, one of which is for reads alone."""
    with sharing(4):
        connection.ensure_connection()
        places = engine.places_at(connection.pool)
        connections.give_back()
        yield places


def take_all(places: Places) -> None:
    for _ in range(3):
        assert places.take(is_urgent=False, seconds=0)


def test_reads_have_a_connection_while_changes_hold_all_they_may(
    acme: ApiClient, four_connections: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE_SECONDS", 0.01)
    take_all(four_connections)

    read = then_giving_back(lambda: acme.get("/v1/payment_intents"))()
    change = then_giving_back(lambda: acme.post("/v1/customers", {}))()

    assert read.status == 200
    assert change.refusal == (503, "upstream_unavailable", None)
    assert four_connections.waiting == 0


def test_a_change_waits_for_its_place_and_gives_it_back(
    acme: ApiClient, four_connections: Places, others: ThreadPoolExecutor
) -> None:
    take_all(four_connections)
    creating = others.submit(then_giving_back(lambda: acme.twin().post("/v1/customers", {})))
    until(lambda: four_connections.waiting == 1)

    four_connections.give_back()

    assert creating.result().status == 200
    assert four_connections.take(is_urgent=False, seconds=0)
    assert not four_connections.take(is_urgent=False, seconds=0)


def test_the_urgent_are_next_whoever_waited_before(others: ThreadPoolExecutor) -> None:
    places = Places(0)
    first = others.submit(places.take, is_urgent=False, seconds=15)
    until(lambda: places.waiting == 1)
    urgent = others.submit(places.take, is_urgent=True, seconds=15)
    until(lambda: places.waiting == 2)

    places.give_back()

    assert urgent.result()
    assert places.waiting == 1
    places.give_back()
    assert first.result()


def test_what_the_bank_answered_is_urgent(
    acme: ApiClient,
    bank: BankTransport,
    four_connections: Places,
    others: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    urgencies = []
    take = Places.take
    held = HeldBank(bank)
    paying = others.submit(then_giving_back(acme.twin().pay))
    held.await_asked()
    take_all(four_connections)
    monkeypatch.setattr(
        Places, "take", lambda *a, **how: urgencies.append(how["is_urgent"]) or take(*a, **how)
    )
    held.answer()
    until(lambda: four_connections.waiting == 1)

    four_connections.give_back()

    assert paying.result()["status"] == "succeeded"
    assert urgencies[0] is True


def test_a_place_that_leads_to_no_connection_is_given_back(
    acme: ApiClient, four_connections: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(_pool: object) -> None:
        raise OperationalError("away")

    with monkeypatch.context() as away:
        away.setattr(engine, "_taken", unreachable)
        for _ in range(5):
            assert acme.post("/v1/customers", {}).status == 503

    assert acme.post("/v1/customers", {}).status == 200


# --- Sessions ---------------------------------------------------------------------------------


def test_a_shared_session_bounds_its_statements_and_is_named(acme: ApiClient) -> None:
    assert bound_of_statements() == "30s"


def test_a_commit_that_waits_for_a_standby_is_not_ended(settings: Any) -> None:
    settings.SYNCHRONOUS_STANDBYS = True

    assert bound_of_statements() == "0"


@pytest.mark.slow
def test_a_role_that_bounds_statements_does_not_end_the_wait_for_a_standby() -> None:
    """An option of the connection counts instead of the role's setting."""
    show = "from django.conf import settings; print(settings.DATABASES['default']['OPTIONS'])"

    _status, said = run("manage.py", "shell", "-c", show, SYNCHRONOUS_STANDBYS="true")

    assert "-c statement_timeout=0" in said


def bound_of_statements() -> str:
    with sharing(2), connection.cursor() as cursor:
        [[bound]] = cursor.execute("SHOW statement_timeout").fetchall()
    return str(bound)


def test_sessions_notice_a_server_that_vanished_within_15_s() -> None:
    params = connection.get_connection_params()

    idle, between, count = (params[f"keepalives_{name}"] for name in ("idle", "interval", "count"))
    assert idle + between * count <= 15
    assert params["tcp_user_timeout"] <= 15_000
