"""The list of disputes: its tabs, its figures, and what needs an answer by its deadline."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from core import clock, ids
from panel.merchants import chart_figures
from payments.disputes.models import Dispute
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD
from tests.stage.teams import person, signed_in

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]
TAB = re.compile(
    r'<li><a href="([^"]*)"( aria-current="page")?>([^<]+?)'
    r'(?: <span class="count">(\d+)</span>)?</a>'
)
TILE = re.compile(r"<dt>([^<]+)</dt><dd><strong[^>]*>([^<]*)</strong><span>([^<]*)</span>")


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def dispute(acme: ApiClient, hours: float, status: str = "needs_response", **facts: Any) -> Dispute:
    now = clock.now()
    attempt = Attempt.objects.get(intent=acme.pay()["id"])
    is_over = status in ("won", "lost", "warning_closed")
    found: Dispute = Dispute.objects.create(**{
        "id": ids.new("dp"), "merchant": acme.merchant, "intent_id": attempt.intent_id,
        "attempt": attempt, "bank_reference": ids.new("dp"), "amount": 12500, "currency": "try",
        "status": status, "reason": "product_not_received", "created_at": now,
        "evidence_due_by": now + timedelta(hours=hours), "closed_at": now if is_over else None,
        "submission_count": int("under_review" in status),
        "evidence": {"uncategorized_text": "x"} if "under_review" in status else {}, **facts,
    })  # fmt: skip
    return found


def seen(client: Client, acme: ApiClient, query: str = "") -> str:
    answer = client.get(f"/panel/{acme.merchant.id}/disputes{query}")
    assert answer.status_code == 200
    return str(answer.content.decode())


def tiles(client: Client, acme: ApiClient) -> dict[str, tuple[str, str]]:
    chart_figures.forget()
    return {name: (value, about) for name, value, about in TILE.findall(seen(client, acme))}


def tabs(page: str) -> dict[str, tuple[str, bool, str]]:
    found = page.partition('<ul class="tabs">')[2].partition("</ul>")[0]
    return {
        name: (url.replace("&amp;", "&"), bool(now), count)
        for url, now, name, count in TAB.findall(found)
    }


def test_both_statuses_that_need_an_answer_are_one_tab_by_their_deadline(
    owner: Client, acme: ApiClient
) -> None:
    later, first = dispute(acme, 90), dispute(acme, 4, "warning_needs_response")
    middle = dispute(acme, 30)
    dispute(acme, 200, "warning_under_review")
    dispute(acme, 200, "won")

    found = tabs(seen(owner, acme))
    page = seen(owner, acme, found["Needs an answer"][0])

    assert {name: count for name, (_url, _now, count) in found.items()} == {
        "Needs an answer": "3", "Under review": "1", "Won": "1", "Lost": "0", "All": "5",
    }  # fmt: skip
    assert [*found][-1] == "All"
    assert re.findall(r"disputes/(dp_\w+)\"><span class=\"amt\"", page) == [
        first.id, middle.id, later.id,
    ]  # fmt: skip
    assert tabs(page)["Needs an answer"][1]
    assert "sort=" not in tabs(page)["Won"][0]


def test_the_navigation_leads_to_what_needs_an_answer_while_something_does(
    owner: Client, acme: ApiClient
) -> None:
    link = re.compile(rf'<li><a href="(/panel/{acme.merchant.id}/disputes[^"]*)"')
    dispute(acme, 200, "won")
    [whole] = link.findall(seen(owner, acme))
    soon = dispute(acme, 4, "warning_needs_response")

    [first] = link.findall(seen(owner, acme))

    assert whole == f"/panel/{acme.merchant.id}/disputes"
    page = owner.get(unescape(first)).content.decode()
    assert tabs(page)["Needs an answer"][1]
    assert re.findall(r"disputes/(dp_\w+)\"><span class=\"amt\"", page) == [soon.id]


def test_the_share_of_disputed_payments_stands_next_to_the_one_of_the_days_before(
    owner: Client, acme: ApiClient
) -> None:
    now = clock.now()
    dispute(acme, 4)
    for _ in range(7):
        acme.pay()
    acme.pay(DECLINED_CARD)
    before = dispute(acme, 4, created_at=now - timedelta(days=40))
    PaymentIntent.objects.filter(id=before.intent_id).update(created_at=now - timedelta(days=40))
    dispute(acme, 4, created_at=now - timedelta(days=70))

    found = tiles(owner, acme)

    # Two of the nine payments of these days have an older dispute; that of 40 days has one of one.
    assert found["Disputed payments"] == ("11.11 %", "30 days; 100.00 % before")


def test_without_charges_no_share_of_them_is_disputed(owner: Client, acme: ApiClient) -> None:
    dispute(acme, 4, created_at=clock.now() - timedelta(days=70))
    PaymentIntent.objects.update(created_at=clock.now() - timedelta(days=70))

    assert tiles(owner, acme)["Disputed payments"] == ("–", "30 days; – before")


def test_the_figures_say_the_deadline_the_held_money_and_what_was_won(
    owner: Client, acme: ApiClient
) -> None:
    dispute(acme, 4.5)
    dispute(acme, 2, "warning_needs_response", amount=100)
    dispute(acme, 90, "under_review", amount=500)
    for status in ("won", "won", "won", "lost"):
        dispute(acme, 1, status)
    dispute(acme, 1, "lost", closed_at=clock.now() - timedelta(days=91))

    found = tiles(owner, acme)

    assert found["Next deadline"][0] == "1 hour left"
    assert found["Next deadline"][1].endswith("₺1.00")
    assert found["Held for disputes"] == ("₺130.00", "2 disputes; comes back if won")
    assert found["Won of those decided"] == ("75 %", "3 of 4, 90 days")


def test_figures_that_take_too_long_are_left_out(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispute(acme, 4)
    monkeypatch.setattr("panel.merchants.dispute_tiles.LIMIT_MS", 1)
    slow = "SELECT 'next', 'try', 1, now() FROM pg_sleep(0.2)"
    monkeypatch.setattr("panel.merchants.dispute_tiles.TILES", slow)

    page = seen(owner, acme)

    assert TILE.findall(page) == []
    assert "hours left" in page


def test_a_row_leads_to_its_answer_for_those_who_may_give_it(acme: ApiClient) -> None:
    row = dispute(acme, 4)
    dispute(acme, 4, "won")
    for role, links in (("support", 1), ("accountant", 0)):
        client = signed_in(person(f"{role}@acme.example", (acme.merchant, role)))

        page = seen(client, acme)

        assert page.count(f"/disputes/{row.id}/evidence") == links
        assert page.count("/evidence") == links
