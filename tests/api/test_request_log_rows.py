"""How rows of the request log come and go: in trouble, of background work, with time."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from api import redaction, request_logs, tasks
from core import clock, context
from core.models import Clock
from ledger import balance
from merchants.models import RequestLog
from tests.stage.books import logged
from tests.stage.client import ApiClient
from tests.stage.factories import unconfirmed

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


# --- When there is trouble ------------------------------------------------------------------


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_a_row_that_cannot_be_written_is_a_warning_and_nobodys_error(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as broken:
        # Longer than its column.
        broken.setattr(redaction, "line", lambda *_text, **_most: "x" * 501)
        answer = acme.post("/v1/customers", {"name": "Ada Lovelace"})

    assert (answer.status, answer["name"]) == (200, "Ada Lovelace")
    [warning] = [line for line in caplog.records if line.levelname == "WARNING"]
    assert "request_log_not_written" in str(warning.msg)
    assert answer.headers["Request-Id"] in str(warning.msg)
    assert logged(acme.get("/v1/balance"))
    assert RequestLog.objects.count() == 1


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_a_request_that_lost_its_connection_is_logged_on_a_new_one(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_it(_merchant: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(balance, "shown", lose_it)

    row = logged(acme.get("/v1/balance"))

    assert (row.status, row.error_code) == (503, "upstream_unavailable")
    assert row.merchant_id == acme.merchant.id


# --- Background work ------------------------------------------------------------------------


def test_a_job_that_changes_an_object_leaves_a_row(acme: ApiClient) -> None:
    with request_logs.job("payments.intents.tasks.resolve_unknown"):
        its_id = context.request_id()
        context.note_change(acme.merchant.id, "pi_late")

    [log] = acme.get("/v1/request_logs?object_id=pi_late")["data"]
    assert log["id"] == its_id
    assert (log["kind"], log["path"]) == ("job", "payments.intents.tasks.resolve_unknown")
    assert {log[name] for name in ("method", "status", "ip", "api_key", "request_body")} == {None}
    assert log["error_code"] is None
    assert log["duration_ms"] >= 0


def test_a_job_that_changes_nothing_leaves_no_row(acme: ApiClient) -> None:
    with request_logs.job("payments.intents.tasks.resolve_unknown"):
        pass

    assert not RequestLog.objects.exists()


def settle_and_crash(merchant_id: str) -> None:
    with request_logs.job("payments.intents.tasks.resolve_unknown"):
        context.note_change(merchant_id, "pi_late")
        raise ZeroDivisionError


def test_a_job_that_crashes_is_logged_and_crashes_on(acme: ApiClient) -> None:
    with pytest.raises(ZeroDivisionError):
        settle_and_crash(acme.merchant.id)

    assert RequestLog.objects.get().error_code == "internal_error"
    assert context.current() is None


# --- Time -----------------------------------------------------------------------------------


def test_a_row_tells_the_movable_clocks_time(acme: ApiClient) -> None:
    Clock.objects.create(offset_seconds=3600.0)

    row = logged(acme.post("/v1/payment_intents", unconfirmed()))

    assert abs(row.created_at - clock.now()) < timedelta(seconds=10)
    assert row.created_at - timezone.now() > timedelta(minutes=59)


def test_rows_are_forgotten_after_thirty_days(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_logs, "ROWS_PER_DELETE", 2)
    old = [logged(acme.get("/v1/balance")).id for _ in range(5)]
    kept = logged(acme.get("/v1/balance"))
    long_ago = clock.now() - timedelta(days=30, seconds=1)
    RequestLog.objects.filter(id__in=old).update(created_at=long_ago)

    tasks.forget_request_logs()

    assert list(RequestLog.objects.all()) == [kept]


def test_forgetting_goes_by_the_movable_clock(acme: ApiClient) -> None:
    acme.get("/v1/balance")
    Clock.objects.create(offset_seconds=31 * 86_400.0)

    assert request_logs.forget_old() == 1
