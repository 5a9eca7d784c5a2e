"""Errors in the panel: refused requests by code and operation, each group a way to its list."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core import clock, ids
from merchants.models import RequestLog
from panel.merchants import request_errors
from panel.patience import TookTooLong
from tests.stage.client import ApiClient
from tests.stage.factories import RequestLogFactory
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def support(acme: ApiClient) -> Client:
    return signed_in(person("sam@acme.example", (acme.merchant, "support")))


def errors(acme: ApiClient, period: str = "24h") -> str:
    return f"/panel/{acme.merchant.id}/request_logs/errors?period={period}"


def made(acme: ApiClient, path: str, **fields: Any) -> RequestLog:
    return RequestLogFactory(merchant=acme.merchant, path=path, **fields)


def groups(answer: Any) -> list[tuple[str, str, str, int]]:
    found = answer.context["groups"]
    return [(one.code, one.method, one.operation, one.times) for one in found]


def test_requests_of_one_operation_are_one_group_whatever_their_ids(
    support: Client, acme: ApiClient, globex: ApiClient
) -> None:
    for one in (ids.new("pi"), ids.new("pi"), "odd-id", "pi_x"):
        made(acme, f"/v1/payment_intents/{one}/confirm")
    made(acme, "/v1/payment_intents/pi_x", method="GET", error_code="resource_missing", status=404)
    made(acme, "/v1/payment_intents", status=200, error_code=None)
    RequestLogFactory(merchant=globex.merchant)

    answer = support.get(errors(acme))

    assert groups(answer) == [
        ("parameter_invalid", "POST", "/v1/payment_intents/{id}/confirm", 4),
        ("resource_missing", "GET", "/v1/payment_intents/{id}", 1),
    ]


def test_addresses_that_do_not_exist_are_one_group(support: Client, acme: ApiClient) -> None:
    for number in range(3):
        made(acme, f"/v1/<script>{number}", error_code="url_not_found", method="GET", status=404)
    made(acme, "/v1/no", error_code="url_not_found", status=404)

    answer = support.get(errors(acme))

    assert groups(answer) == [("url_not_found", "", "", 4)]
    assert "An address that does not exist" in answer.content.decode()
    assert "<script>0" not in answer.content.decode()


@pytest.mark.parametrize(("period", "times"), [("24h", 1), ("7d", 2), ("", 1), ("1e9y", 1)])
def test_a_day_and_a_week_are_counted(
    support: Client, acme: ApiClient, period: str, times: int
) -> None:
    for age in (timedelta(hours=23), timedelta(days=6), timedelta(days=8)):
        made(acme, "/v1/refunds", created_at=clock.now() - age)

    assert groups(support.get(errors(acme, period)))[0][3] == times


def test_each_group_leads_to_the_list_of_its_requests(support: Client, acme: ApiClient) -> None:
    rows = {
        made(acme, "/v1/refunds/re_a").id, made(acme, "/v1/refunds/re_b").id,
        made(acme, "/v1/refunds").id, made(acme, "/v1/refunds/re_a", method="GET").id,
        made(acme, "/v1/refunds/re_a", error_code=None, status=502).id,
    }  # fmt: skip
    made(acme, "/v1/refunds/re_a", status=200, error_code=None, method="GET")

    found = support.get(errors(acme)).context["groups"]
    listed = [[row.id for row in support.get(one.url).context["page"].rows] for one in found]

    assert (
        [len(rows_of_one) for rows_of_one in listed] == [one.times for one in found] == [2, 1, 1, 1]
    )
    assert {row_id for found in listed for row_id in found} == rows


def test_a_quiet_time_says_so(support: Client, acme: ApiClient) -> None:
    assert "Nothing was refused" in support.get(errors(acme)).content.decode()


def test_counting_that_takes_too_long_is_given_up_in_words(
    support: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: Any) -> None:
        raise TookTooLong

    monkeypatch.setattr(request_errors, "_refused", slow)

    assert "Narrow the time" in support.get(errors(acme)).content.decode()


def test_many_errors_take_few_statements(support: Client, acme: ApiClient) -> None:
    for number in range(40):
        made(acme, f"/v1/refunds/re_{number}", error_code=f"code_{number}")
    support.get(errors(acme))

    with CaptureQueriesContext(connection) as statements:
        support.get(errors(acme))

    assert len(statements) <= 15


def test_finance_does_not_see_them(acme: ApiClient) -> None:
    finance = signed_in(person("fay@acme.example", (acme.merchant, "finance")))

    page = finance.get(f"/panel/{acme.merchant.id}").content.decode()

    assert finance.get(errors(acme)).status_code == 403
    assert "request_logs" not in page
