"""The loop when things go wrong: the network, the database, a mistake of ours."""

import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connection

from merchants.models import Merchant
from tests.stage import receivers
from tests.stage.database_role import as_owner
from tests.stage.draining import (
    PATIENCE_SECONDS,
    draining,
    endpoint_at,
    run_until,
    slowly,
    statuses,
    tell,
    until,
)
from tests.stage.factories import EndpointFactory, MerchantFactory
from tests.stage.own_ports import refusing_port
from tests.stage.receivers import Receiver, receiver
from webhooks.delivery.http.progress import TooLate
from webhooks.delivery.http.sender import NotSent, Sender
from webhooks.models import Delivery, Endpoint, Lane, SigningSecret

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nobody_is_late(settings: Any, monkeypatch: Any) -> None:
    """A busy machine may take its time: no attempt here is to end by its deadline."""
    settings.WEBHOOK_TIMEOUT_SECONDS = 30.0
    settings.WEBHOOK_LEASE_SECONDS = 60.0
    monkeypatch.setattr("webhooks.delivery.drain.LOOK_EVERY_SECONDS", 0.1)
    monkeypatch.setattr("webhooks.delivery.outage.PROBE_EVERY_SECONDS", 0.2)


def test_a_database_that_hangs_up_loses_nothing(settings: Any) -> None:
    with receiver(slowly(0.3)) as theirs:
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        with draining():
            until(lambda: theirs.requests)
            hung_up = hang_up_on_everybody_else()
            until(lambda: statuses() == [(1, "succeeded", None)])
            tell(endpoint.merchant, "cus_2")
            until(lambda: len(statuses()) == 2 and not Lane.objects.exists())

    assert hung_up > 0
    assert len(theirs.requests) == 2


def test_a_migration_that_changes_a_columns_type_loses_nothing(settings: Any) -> None:
    with receiver() as theirs, draining():
        endpoint = endpoint_at(theirs, settings)
        tell(endpoint.merchant)
        until(lambda: statuses() == [(1, "succeeded", None)])
        try:
            change_the_urls_type(3000)
            tell(endpoint.merchant, "cus_2")
            until(lambda: len(theirs.requests) == 2 and not Lane.objects.exists())
        finally:
            change_the_urls_type(2000)

    assert len(theirs.requests) == 2


def test_our_own_network_spends_nobodys_attempts(settings: Any) -> None:
    acme, globex, initech = (MerchantFactory() for _ in range(3))
    theirs = [Receiver(lambda wire: wire.sendall(receivers.OK)) for _ in range(6)]
    for merchant, gone in zip((acme, acme, globex, globex, initech, initech), theirs, strict=True):
        gone.close()
        endpoint_at(gone, settings, merchant=merchant)
    for merchant in (acme, globex, initech):
        tell(merchant)

    with draining() as drain:
        until(lambda: drain._outage.is_paused)
        assert statuses() == [(1, "pending", None)] * 6
        with receiver() as back:
            Endpoint.objects.update(url=back.url)
            settings.WEBHOOK_DEV_HOSTS = [back.host]
            until(lambda: statuses() == [(1, "succeeded", None)] * 6)


def test_one_merchant_alone_pauses_nobody(
    settings: Any, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("webhooks.delivery.outage.QUIET_SECONDS", 0.0)
    hostile = MerchantFactory()
    with receiver() as healthy, refusing_port() as port, draining() as drain:
        good = endpoint_at(healthy, settings)
        tell(good.merchant)
        until(lambda: healthy.requests)
        refuse(hostile, settings, port, endpoints=16)
        until(lambda: len(drain._outage._last) == 17)
        tell(good.merchant)

        until(lambda: len(healthy.requests) == 2)
    assert "webhooks_paused" not in caplog.text


def test_in_a_pause_who_can_be_reached_is_found_among_many_who_cannot(settings: Any) -> None:
    with ExitStack() as ports, receiver() as healthy, draining() as drain:
        for _ in range(4):
            port = ports.enter_context(refusing_port())
            refuse(MerchantFactory(), settings, port, endpoints=4)
        until(lambda: drain._outage.is_paused)
        good = endpoint_at(healthy, settings)
        tell(good.merchant)

        until(lambda: healthy.requests)


def refuse(merchant: Merchant, settings: Any, port: int, *, endpoints: int) -> None:
    """Tell of something to many endpoints at a port that refuses connections."""
    host = f"127.0.0.1:{port}"
    settings.WEBHOOK_DEV_HOSTS = [*settings.WEBHOOK_DEV_HOSTS, host]
    for _ in range(endpoints):
        EndpointFactory(url=f"http://{host}/hooks", merchant=merchant)
    for number in range(10):
        tell(merchant, f"cus_{number}")


@pytest.mark.parametrize("lack", [NotSent, TooLate])  # Of files to open, or of time.
def test_what_was_not_written_spends_no_attempt(
    lack: type[Exception], settings: Any, monkeypatch: Any
) -> None:
    post, tried = Sender.post, []

    async def lacking(sender: Sender, claimed: Any) -> Any:
        tried.append(claimed)
        if len(tried) == 1:
            raise lack
        return await post(sender, claimed)

    monkeypatch.setattr("webhooks.delivery.in_flight.REST_SECONDS", 0.2)
    monkeypatch.setattr(Sender, "post", lacking)
    with receiver() as theirs:
        tell(endpoint_at(theirs, settings).merchant)
        run_until(lambda: not Lane.objects.exists())

    assert statuses() == [(1, "succeeded", None)]


def test_nothing_is_sent_unsigned(settings: Any) -> None:
    with receiver() as theirs, receiver() as others:
        bad, good = endpoint_at(theirs, settings), endpoint_at(others, settings)
        SigningSecret.objects.filter(endpoint=bad).update(sealed=b"nonsense")
        tell(bad.merchant)
        tell(good.merchant)

        run_until(lambda: not Lane.objects.filter(endpoint=good).exists())

    assert theirs.requests == []
    assert Delivery.objects.get(endpoint=bad).status == "pending"


def test_a_mistake_of_ours_counts_as_an_attempt_and_keeps_nobody(
    settings: Any, monkeypatch: Any
) -> None:
    post = Sender.post

    async def stumble(sender: Sender, claimed: Any) -> Any:
        if claimed.endpoint_id == bad.id:
            raise ZeroDivisionError
        return await post(sender, claimed)

    monkeypatch.setattr(Sender, "post", stumble)
    with receiver() as theirs:
        bad, good = EndpointFactory(), endpoint_at(theirs, settings)
        tell(bad.merchant)
        tell(good.merchant)

        run_until(lambda: Delivery.objects.exclude(status="pending").count() == 2)

    assert Delivery.objects.get(endpoint=bad, attempt=1).error == "connection_error"
    assert Delivery.objects.get(endpoint=good).status == "succeeded"


@pytest.mark.parametrize(
    "chore", ["notices.send_due", "stopping.stop_pending", "delivery.drain.listen"]
)
def test_a_mistake_in_what_is_done_beside_ends_neither_it_nor_deliveries(
    settings: Any, monkeypatch: Any, chore: str
) -> None:
    stumbled: list[float] = []

    def stumble(*_options: Any) -> int:
        stumbled.append(time.monotonic())
        raise ValueError("odd")

    monkeypatch.setattr("webhooks.delivery.chores.AGAIN_AFTER_SECONDS", 0.1)
    monkeypatch.setattr("webhooks.upkeep.MAIL_EVERY_SECONDS", 0.1)
    monkeypatch.setattr(f"webhooks.{chore}", stumble)
    with receiver() as theirs, draining():
        until(lambda: len(stumbled) > 1)
        tell(endpoint_at(theirs, settings).merchant)
        until(lambda: len(theirs.requests) == 1)


def test_a_stop_does_not_wait_for_a_mail(settings: Any, monkeypatch: Any) -> None:
    is_sending, may_end, is_sent = (threading.Event() for _ in range(3))

    def send_due() -> None:
        is_sending.set()
        may_end.wait(PATIENCE_SECONDS)
        is_sent.set()

    monkeypatch.setattr("webhooks.notices.send_due", send_due)
    with draining():
        assert is_sending.wait(PATIENCE_SECONDS)

    assert not is_sent.is_set(), "the stop waited for the mail"
    may_end.set()
    assert is_sent.wait(PATIENCE_SECONDS)


def test_an_answer_that_cannot_be_written_keeps_no_other(settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        "webhooks.delivery.http.sender.excerpt", lambda body, **_: body.decode() or None
    )
    with (
        receiver(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\x00") as poison,
        receiver() as theirs,
    ):
        bad, good = endpoint_at(poison, settings), endpoint_at(theirs, settings)
        tell(bad.merchant)
        tell(good.merchant)

        run_until(lambda: poison.requests and not Lane.objects.filter(endpoint=good).exists())

    assert Delivery.objects.get(endpoint=bad).status == "pending"
    assert Delivery.objects.get(endpoint=good).status == "succeeded"


def change_the_urls_type(most: int) -> None:
    with as_owner() as cursor:
        cursor.execute(f"ALTER TABLE webhooks_endpoint ALTER url TYPE varchar({most})")


def hang_up_on_everybody_else() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cursor.fetchone()[0]
