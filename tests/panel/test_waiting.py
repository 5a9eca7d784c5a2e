"""Waits for you: what waits, the most urgent first, by role, and as counts in the navigation."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import clock, ids
from panel import tallies
from panel.merchants import figures
from payments.disputes.models import Dispute
from payments.intents.models import Attempt
from tests.stage.acts import owe
from tests.stage.book_keeping import Till
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, SILENT_CARD, EndpointFactory
from tests.stage.panel_pages import THINGS
from tests.stage.sweeper import sweep_after
from tests.stage.teams import person, signed_in
from tests.stage.transfers import DELAY, hear_after, pay_out, rich

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    figures.forget()
    yield
    figures.forget()


def client_of(acme: ApiClient, role: str) -> Client:
    return signed_in(person(f"{ids.new('me')}@acme.example", (acme.merchant, role)))


def page_of(acme: ApiClient, role: str = "owner") -> Any:
    figures.forget()
    page = client_of(acme, role).get(f"/panel/{acme.merchant.id}")
    assert page.status_code == 200
    return page


def waiting(acme: ApiClient, role: str = "owner") -> list[tuple[str, int]]:
    return [(note.what, note.level) for note in page_of(acme, role).context["notes"]]


def counts(page: Any) -> dict[str, str]:
    """Return the counts in the navigation, by the end of the link's address."""
    text = page.content.decode()
    found = re.findall(
        r'<a href="[^"?]*/(\w+)[?"][^>]*>[^<]+ <span class="count is-bad">(.*?)</a>', text
    )
    return {name: re.sub(r"\D", "", re.sub(r"<[^>]+>", "", rest)) for name, rest in found}


def dispute(acme: ApiClient, **left: int) -> Dispute:
    is_first = not Dispute.objects.filter(merchant=acme.merchant).exists()
    row = Dispute.objects.get(pk=THINGS["dispute"](acme.merchant))
    if not is_first:
        row.pk = row.bank_reference = ids.new("dp")
    row.evidence_due_by = clock.now() + timedelta(minutes=1, **left)
    row.save(force_insert=not is_first)
    return row


def test_nothing_waits_where_all_is_well(acme: ApiClient) -> None:
    acme.pay(GOOD_CARD)

    page = page_of(acme)

    assert page.context["notes"] == []
    assert counts(page) == {}
    assert "Waits for you" not in page.content.decode()


def test_deadlines_come_first_by_how_near_they_are(acme: ApiClient) -> None:
    late, soon = dispute(acme, days=6), dispute(acme, hours=4)
    EndpointFactory(merchant=acme.merchant, status="failing", url="https://acme.example/dead")
    acme.merchant.api_keys.update(expires_at=timezone.now() + timedelta(days=12))

    page = page_of(acme)

    notes = page.context["notes"]
    assert [(note.what, note.level) for note in notes] == [
        ("endpoint", 0), ("dispute", 0), ("dispute", 2), ("key", 2),
    ]  # fmt: skip
    assert [note.url.rpartition("/")[2] for note in notes[1:3]] == [soon.id, late.id]
    text = page.content.decode()
    for said in ("4 hours left", "6 days left", "without an answer it is lost", "11 days left"):
        assert said in text, said
    assert counts(page) == {"disputes": "2", "webhooks": "1", "keys": "1"}


def test_a_payment_without_an_answer_waits_after_a_quarter_of_an_hour(acme: ApiClient) -> None:
    silent = acme.pay(SILENT_CARD)["id"]
    early = waiting(acme)
    Attempt.objects.filter(intent_id=silent).update(asked_at=clock.now() - timedelta(minutes=16))
    aged(silent)

    page = page_of(acme)

    assert early == []
    [note] = page.context["notes"]
    assert (note.what, note.level) == ("silent", 1)
    assert "1 payment has no answer from the bank" in page.content.decode()
    assert "do not charge again" in page.content.decode()
    assert note.url.endswith("/payments?status%5B%5D=processing")
    assert counts(page) == {"payments": "1"}


def test_an_authorisation_waits_in_its_last_two_days(acme: ApiClient) -> None:
    held = acme.pay(capture_method="manual")["id"]
    early = waiting(acme)
    Attempt.objects.filter(intent_id=held).update(asked_at=clock.now() - timedelta(days=5, hours=2))
    aged(held)

    [note] = page_of(acme).context["notes"]

    assert early == []
    assert (note.what, note.when) == ("ending", "45 hours left")
    assert note.detail == "Otherwise the money is released to the cardholder."


def aged(payment: str) -> None:
    """Make a payment as old as its attempt."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE intents_paymentintent SET created_at = created_at - interval '6 days'"
            " WHERE id = %s", [payment],
        )  # fmt: skip


def test_a_failed_payout_waits_until_another_one_is_made(acme: ApiClient) -> None:
    rich(acme)
    pay_out(acme, destination="test_bounced")
    sweep_after(DELAY)
    hear_after(5)
    hear_after(60)

    before = page_of(acme)
    pay_out(acme, 100)

    assert [note.what for note in before.context["notes"]] == ["payout"]
    assert counts(before) == {"balance": "1"}
    assert waiting(acme) == []


def test_a_balance_below_zero_waits_for_those_who_see_it(acme: ApiClient) -> None:
    owe(Till(acme.merchant), 30_00)

    assert waiting(acme, "finance") == waiting(acme, "developer") == [("debt", 1)]
    assert waiting(acme, "support") == []
    assert "The balance is below zero: -₺" in page_of(acme).content.decode()


@pytest.mark.parametrize("role", ["support", "finance"])
def test_each_role_sees_what_it_may_see_to(acme: ApiClient, role: str) -> None:
    dispute(acme, hours=4)
    EndpointFactory(merchant=acme.merchant, status="failing", url="https://acme.example/dead")
    acme.merchant.api_keys.update(expires_at=timezone.now() + timedelta(days=12))

    page = page_of(acme, role)

    assert [note.what for note in page.context["notes"]] == ["dispute"]
    assert set(counts(page)) <= {"disputes", "webhooks"}
    assert "keys" not in counts(page)


def test_an_endpoint_in_trouble_waits_before_it_is_off(acme: ApiClient) -> None:
    row = EndpointFactory(merchant=acme.merchant, url="https://acme.example/slow")
    type(row).objects.filter(pk=row.pk).update(troubled_at=clock.now() - timedelta(hours=2))

    page = page_of(acme, "developer")
    own = client_of(acme, "developer").get(f"/panel/{acme.merchant.id}/webhooks/{row.id}")

    [note] = page.context["notes"]
    assert (note.what, note.level) == ("endpoint", 0)
    assert note.when.startswith("since ")
    assert "after ten attempts nothing more is sent to it" in note.detail
    assert counts(page)["webhooks"] == "1"
    assert "This endpoint does not answer" in own.content.decode()
    assert acme.get(f"/v1/webhook_endpoints/{row.id}")["status"] == "enabled"


def test_another_merchants_things_wait_for_nobody_here(acme: ApiClient, globex: ApiClient) -> None:
    dispute(globex, hours=4)
    EndpointFactory(merchant=globex.merchant, status="failing", url="https://globex.example/dead")

    assert tallies.read(acme.merchant).by_page == dict.fromkeys(
        ("payments", "disputes", "balance", "webhooks", "keys"), 0
    )


def test_all_counts_are_one_statement_however_much_waits(acme: ApiClient) -> None:
    for _ in range(3):
        dispute(acme, hours=4)

    with CaptureQueriesContext(connection) as statements:
        found = tallies.read(acme.merchant)

    counting = [one for one in statements if "disputes_dispute" in one["sql"]]
    assert (len(counting), found.disputes) == (1, 3)
    # Beside it the movable clock may be read.
    assert len(statements) <= 2


# --- The list of disputes -----------------------------------------------------------------------


def test_the_list_says_how_much_time_there_is_what_helps_and_what_is_drafted(
    acme: ApiClient,
) -> None:
    soon, late = dispute(acme, hours=4), dispute(acme, days=3)
    Dispute.objects.filter(pk=soon.pk).update(
        reason="product_not_received", evidence={"shipping_carrier": "PTT", "service_date": "1"}
    )
    client, url = client_of(acme, "owner"), f"/panel/{acme.merchant.id}/disputes"

    page = client.get(url).content.decode()
    [link] = re.findall(r'<li><a href="([^"]+)">Needs an answer', page)
    listed = client.get(url + link.replace("&amp;", "&"))

    for said in ("4 hours left", "3 days left", "Show that it was delivered",
                 "Draft: 2 of 5 texts", "Nothing drafted yet", "Needs an answer"):  # fmt: skip
        assert said in page, said
    assert "style=" not in page
    rows = listed.context["page"].rows
    assert [row.id for row in rows] == [soon.id, late.id]
    assert [row.countdown.colour for row in rows] == ["bad", "warn"]


def test_a_dispute_that_nobody_answers_any_more_counts_down_no_more(acme: ApiClient) -> None:
    row = dispute(acme)
    Dispute.objects.filter(pk=row.pk).update(evidence_due_by=clock.now() - timedelta(minutes=1))

    page = client_of(acme, "owner").get(f"/panel/{acme.merchant.id}/disputes")

    [shown] = [one for one in page.context["page"].rows if one.id == row.id]
    assert shown.countdown is None
    assert "All disputes" not in page.content.decode()
