"""The database was restarted while connections were kept: the next request does not notice."""

from collections import Counter
from collections.abc import Callable, Iterator
from threading import Barrier
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.db import (
    OperationalError,
    close_old_connections,
    connection,
    connections,
    transaction,
)
from django.test import Client

from core.postgresql import base
from payments.customers.models import Customer
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.kills import until
from tests.stage.shared_connections import sharing, then_giving_back
from tests.stage.threads import together
from tests.stage.threeds import bring, challenged, decide

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
    pytest.mark.skipif(settings.BEHIND_POOLER, reason="ends sessions of the database itself"),
]

SHARED = 4


def hang_up_on_everybody() -> int:
    """End all sessions with the test databases, and return how many they were."""
    ended = 0
    for alias in connections:
        place = {**connections[alias].get_connection_params(), "autocommit": True}
        with psycopg.connect(**place) as other:
            [row] = other.execute(
                "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()
            ended += row[0]
    return ended


def page(path: str) -> int:
    return Client(raise_request_exception=False).get(path).status_code


@pytest.fixture(params=["kept", "shared"])
def stage(
    request: pytest.FixtureRequest, acme: ApiClient, bank: BankTransport
) -> Iterator[ApiClient]:
    """Acme's client, and connections that lie unused: this thread's own, or shared ones."""
    if request.param == "kept":
        connection.ensure_connection()
        yield acme
        return
    with sharing(SHARED):
        all_have_one = Barrier(SHARED)

        def take() -> None:
            connection.ensure_connection()
            all_have_one.wait(20)

        together([then_giving_back(take)] * SHARED)
        yield acme


def answers(call: Callable[[], int]) -> set[int]:
    """Hang up on all connections, then call as often as there may be dead ones."""
    ended = hang_up_on_everybody()
    assert ended >= (SHARED if connection.pool else 1)
    return {then_giving_back(call)() for _ in range(ended + 1)}


def test_a_load_balancer_is_told_that_all_is_well(stage: ApiClient) -> None:
    assert answers(lambda: page("/livez")) == {200}


def test_a_payer_sees_their_page(stage: ApiClient) -> None:
    url = challenged(stage)["next_action"]["redirect_to_url"]["url"]

    assert answers(lambda: page(urlsplit(url).path)) == {200}


def test_a_payer_who_comes_back_from_the_bank_is_heard(stage: ApiClient) -> None:
    paid = [challenged(stage) for _ in range(2 * SHARED + 2)]
    brought = [decide(payment, "Approve").fields for payment in paid]

    assert answers(lambda: bring(brought.pop()).status) == {302}

    ended = Counter(stage.payment(payment["id"])["status"] for payment in paid)
    assert ended == {"succeeded": len(paid) - len(brought), "requires_action": len(brought)}


def test_a_merchant_reads_and_is_paid(stage: ApiClient) -> None:
    assert answers(lambda: stage.get("/v1/balance").status) == {200}
    assert answers(lambda: stage.pay().status) == {200}


def test_an_operator_is_asked_to_sign_in(stage: ApiClient) -> None:
    assert answers(lambda: page("/account/login")) == {200}


@transaction.atomic
def count_before_and_after() -> None:
    Customer.objects.count()
    hang_up_on_everybody()
    Customer.objects.count()


def test_what_has_begun_is_not_begun_again(stage: ApiClient) -> None:
    with pytest.raises(OperationalError):
        count_before_and_after()

    assert Customer.objects.count() == 0


def test_the_end_of_a_request_asks_for_nothing_in_the_place_of_a_dead_one(
    stage: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.ensure_connection()
    hang_up_on_everybody()
    monkeypatch.setattr(base.DatabaseWrapper, "get_new_connection", cannot_be_reached)

    close_old_connections()

    assert connection.connection is None


def cannot_be_reached(*_arguments: object) -> None:
    raise psycopg.OperationalError("the database cannot be reached")


def test_what_comes_unasked_is_no_reason_to_connect_anew(acme: ApiClient) -> None:
    connection.ensure_connection()
    before = connection.connection
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        before.execute("LISTEN anything")
        other.execute("NOTIFY anything")
        until(lambda: not base._is_silent(before))

    assert acme.get("/v1/balance").status == 200
    assert connection.connection is before


def test_nothing_is_asked_of_a_connection_that_is_silent(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.ensure_connection()
    asked = []
    monkeypatch.setattr(connection.connection, "execute", asked.append)

    assert acme.get("/v1/balance").status == 200
    assert asked == []
