"""Disputes in the panel: listed, answered by a draft and a last look, or accepted."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from core import clock
from merchants.models import AuditEntry
from payments.disputes.models import Dispute
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.panel_pages import address
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ACTS = ("dispute_evidence", "submit_dispute", "accept_dispute")


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def disputed(acme: ApiClient, **changes: Any) -> Dispute:
    """Return an inquiry about a payment of the merchant's: it takes no money."""
    made = acme.pay().body
    row = {
        "id": f"dp_{made['id']}"[:40], "merchant": acme.merchant, "intent_id": made["id"],
        "attempt_id": made["latest_attempt"], "bank_reference": made["id"], "amount": 12500,
        "currency": "try", "status": "warning_needs_response", "reason": "product_not_received",
        "evidence_due_by": clock.now() + timedelta(days=9, hours=1), "created_at": clock.now(),
    }  # fmt: skip
    return Dispute.objects.create(**{**row, **changes})


def send(client: Client, acme: ApiClient, name: str, row: Dispute, **fields: str) -> Any:
    return client.post(address(name, acme.merchant.id, row.id), {"token": name, **fields})


def test_a_dispute_says_how_long_there_is_and_what_helps(owner: Client, acme: ApiClient) -> None:
    row = disputed(acme)

    listed = owner.get(f"/panel/{acme.merchant.id}/disputes").content.decode()
    page = owner.get(address("dispute", acme.merchant.id, row.id)).content.decode()

    assert row.id in listed
    for words in (
        "9 days left to answer",
        "Nothing was delivered",
        "Show that it was delivered",
        row.intent_id,
    ):
        assert words in page, words


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (timedelta(minutes=40), "Less than an hour left to answer"),
        (timedelta(hours=5, minutes=30), "5 hours left to answer"),
        (timedelta(minutes=-1), "The time to answer is over."),
    ],
)
def test_a_dispute_says_the_hours_of_its_last_day_as_the_list_does(
    owner: Client, acme: ApiClient, time: timedelta, said: str
) -> None:
    row = disputed(acme, evidence_due_by=clock.now() + time)

    page = owner.get(address("dispute", acme.merchant.id, row.id)).content.decode()

    assert said in page


def test_a_draft_is_kept_and_submitted_after_a_last_look(owner: Client, acme: ApiClient) -> None:
    row = disputed(acme)

    kept = send(owner, acme, "dispute_evidence", row, shipping_carrier="<b>PTT</b>", then="look")
    look = owner.get(kept.url).content.decode()
    before = Dispute.objects.get()
    sent = [send(owner, acme, "submit_dispute", row) for _ in range(2)]

    assert kept.url == address("submit_dispute", acme.merchant.id, row.id)
    assert "&lt;b&gt;PTT" in look
    assert (before.evidence, before.submission_count) == ({"shipping_carrier": "<b>PTT</b>"}, 0)
    assert [one.status_code for one in sent] == [303, 303]
    after = Dispute.objects.get()
    assert (after.status, after.submission_count) == ("warning_under_review", 1)
    actions = AuditEntry.objects.filter(subject=row.id).order_by("sequence")
    assert list(actions.values_list("action", flat=True)) == [
        "dispute.updated", "dispute.submitted",
    ]  # fmt: skip


def test_nothing_is_submitted_without_evidence(owner: Client, acme: ApiClient) -> None:
    row = disputed(acme)

    page = send(owner, acme, "submit_dispute", row)

    assert page.status_code == 400
    assert "There is no evidence yet" in page.content.decode()


def test_an_inquiry_is_accepted_once(owner: Client, acme: ApiClient) -> None:
    row = disputed(acme)
    asked = owner.get(address("accept_dispute", acme.merchant.id, row.id)).content.decode()

    sent = [send(owner, acme, "accept_dispute", row) for _ in range(2)]

    assert "It costs nothing" in asked
    assert [one.status_code for one in sent] == [303, 303]
    assert Dispute.objects.get().status == "warning_closed"
    assert AuditEntry.objects.filter(action="dispute.closed", subject=row.id).count() == 1


def test_a_button_that_comes_with_a_card_number_does_nothing(
    owner: Client, acme: ApiClient
) -> None:
    row = disputed(acme)

    page = send(owner, acme, "accept_dispute", row, note=GOOD_CARD)

    assert page.status_code == 400
    assert "There is a card number" in page.content.decode()
    assert Dispute.objects.get().status == row.status


@pytest.mark.parametrize("state", ["closed", "late"])
def test_a_dispute_that_waits_for_nobody_takes_nothing(
    owner: Client, acme: ApiClient, state: str
) -> None:
    late = {"evidence_due_by": clock.now() - timedelta(days=1)}
    row = disputed(acme, **(late if state == "late" else {}))
    if state == "closed":
        send(owner, acme, "accept_dispute", row)
    page = owner.get(address("dispute", acme.merchant.id, row.id)).content.decode()

    refused = send(owner, acme, "dispute_evidence", row, service_date="x")

    assert refused.status_code == 400
    assert "/evidence" not in page
    assert Dispute.objects.get().evidence == {}


def test_a_card_number_in_evidence_leaves_the_draft_as_it_was(
    owner: Client, acme: ApiClient
) -> None:
    row = disputed(acme, evidence={"shipping_carrier": "PTT"})

    page = send(owner, acme, "dispute_evidence", row, uncategorized_text=GOOD_CARD)

    assert page.status_code == 400
    assert GOOD_CARD not in page.content.decode()
    assert Dispute.objects.get().evidence == {"shipping_carrier": "PTT"}


def test_developers_see_disputes_and_do_nothing_and_foreign_ones_are_unknown(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    developer = signed_in(person("dev@acme.example", (acme.merchant, "developer")))
    row, foreign = disputed(acme), disputed(globex)
    page = developer.get(address("dispute", acme.merchant.id, row.id))

    assert page.status_code == 200
    assert "/accept" not in page.content.decode()
    for name in ACTS:
        assert send(developer, acme, name, row).status_code == 403
        assert send(owner, acme, name, foreign).status_code == 404
    assert set(Dispute.objects.values_list("status", flat=True)) == {"warning_needs_response"}
