"""The overview's figures: of the merchant's own days, beside the week before."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import clock, ids
from panel.merchants import chart_figures, figures
from panel.patience import TookTooLong
from payments.disputes.models import Dispute
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory, PaymentFactory, RequestLogFactory
from tests.stage.panel_pages import THINGS
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

INSUFFICIENT = {"code": "card_declined", "decline_code": "insufficient_funds"}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    figures.forget()
    yield
    figures.forget()


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """It is Tuesday, 12:00 in Istanbul."""
    now = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)
    return now


def paid(acme: ApiClient, at: datetime, minor: int = 10000, **facts: Any) -> None:
    PaymentFactory(
        merchant=acme.merchant, created_at=at, amount=minor, authorized_minor=minor,
        captured_minor=minor, **facts,
    )  # fmt: skip


def refused(acme: ApiClient, at: datetime, error: dict[str, str] = INSUFFICIENT) -> None:
    PaymentFactory(
        merchant=acme.merchant, created_at=at, status="requires_payment_method",
        authorized_minor=0, captured_minor=0, last_payment_error=error,
    )  # fmt: skip


def overview(client: Client, acme: ApiClient) -> Any:
    page = client.get(f"/panel/{acme.merchant.id}")
    assert page.status_code == 200
    return page


def test_what_waits_for_somebody_is_said_and_leads_there(owner: Client, acme: ApiClient) -> None:
    merchant = acme.merchant
    dispute = Dispute.objects.get(pk=THINGS["dispute"](merchant))
    merchant_key = merchant.api_keys.get()
    merchant_key.expires_at = timezone.now() + timedelta(days=3, minutes=1)
    merchant_key.save()
    failing = EndpointFactory(merchant=merchant, status="failing", url="https://acme.example/dead")
    EndpointFactory(merchant=merchant)
    RequestLogFactory(merchant=merchant, status=400, error_code="parameter_invalid")

    soon = overview(owner, acme)
    Dispute.objects.update(evidence_due_by=clock.now() + timedelta(days=2, minutes=1))
    figures.forget()
    page = overview(owner, acme)

    assert [note.what for note in soon.context["notes"]] == ["endpoint", "key"]
    assert [note.what for note in page.context["notes"]] == ["endpoint", "dispute", "key"]
    text = page.content.decode()
    for shown in (
        f'href="/panel/{merchant.id}/disputes/{dispute.id}"', "2 days left", "3 days left",
        f'href="/panel/{merchant.id}/webhooks/{failing.id}"', "parameter_invalid",
    ):  # fmt: skip
        assert shown in text


def test_support_sees_no_keys_and_endpoints_and_finance_no_errors(acme: ApiClient) -> None:
    EndpointFactory(merchant=acme.merchant, status="failing", url="https://acme.example/dead")
    RequestLogFactory(merchant=acme.merchant, status=400, error_code="parameter_invalid")
    support = signed_in(person("sue@acme.example", (acme.merchant, "support")))
    finance = signed_in(person("fin@acme.example", (acme.merchant, "finance")))

    assert "acme.example/dead" not in overview(support, acme).content.decode()
    assert "parameter_invalid" not in overview(finance, acme).content.decode()


def test_figures_are_a_minute_old_at_most_and_say_so(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: at)
    first = overview(owner, acme)
    paid(acme, at, 30000)

    within = overview(owner, acme)
    monkeypatch.setattr(clock, "now", lambda: at + timedelta(minutes=1))
    after = overview(owner, acme)

    assert "12:00:00" in first.content.decode()
    assert within.context["charts"]["total"] == 0
    assert after.context["charts"]["charged"].now.charged == 30000


def test_figures_that_take_too_long_are_left_out_and_the_page_comes(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_merchant: Any) -> None:
        raise TookTooLong

    monkeypatch.setattr("panel.merchants.figures.read", slow)

    assert "took too long to work out" in overview(owner, acme).content.decode()


def test_many_payments_cost_no_more_statements(owner: Client, acme: ApiClient) -> None:
    overview(owner, acme)
    counts = []
    for number in (1, 30):
        for _ in range(number):
            paid(acme, clock.now())
            refused(acme, clock.now())
        figures.forget()
        chart_figures.forget()
        with CaptureQueriesContext(connection) as statements:
            overview(owner, acme)
        counts.append(len(statements))

    # Those of the charts too: nothing is kept from the look before.
    assert counts[0] == counts[1] <= 29


def test_more_disputes_than_are_named_lead_to_their_list(owner: Client, acme: ApiClient) -> None:
    dispute = Dispute.objects.get(pk=THINGS["dispute"](acme.merchant))
    for _ in range(6):
        dispute.pk = dispute.bank_reference = ids.new("dp")
        dispute.evidence_due_by = clock.now() + timedelta(days=1)
        dispute.save(force_insert=True)

    page = overview(owner, acme)

    assert len(page.context["notes"]) == 5
    assert "All disputes that need an answer" in page.content.decode()


def test_there_is_a_page_about_going_live_in_a_sandbox_alone(
    owner: Client, acme: ApiClient, settings: Any
) -> None:
    url = f"/panel/{acme.merchant.id}/go_live"
    assert "It is another installation" in owner.get(url).content.decode()

    settings.LIVEMODE, settings.PANEL_AT = True, settings.API_AT

    assert owner.get(url).status_code == 404
