"""Operators open and decide disputes in the admin, with a reason, by the same functions."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from acquirers.notices.models import Notice
from merchants.models import RequestLog, User
from payments.disputes.models import Dispute
from tests.stage.booked import movements
from tests.stage.complaints import STARTS, Complaint
from tests.stage.factories import DECLINED_CARD, GOOD_CARD
from tests.stage.notifier import Notifier, take_in
from tests.stage.teams import let_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

OPEN = reverse("admin:disputes_dispute_open")
EMAIL, PASSWORD = "operator@example.com", "a long enough password"
WHY = "The bank's letter of today."


@pytest.fixture
def operator(client: Client) -> Client:
    return let_in(client, User.objects.create_superuser(EMAIL, PASSWORD))


@pytest.fixture
def reader(client: Client) -> Client:
    """An operator who may look and may not act."""
    user = User.objects.create_user("reader@example.com", PASSWORD, is_staff=True)
    user.user_permissions.add(
        Permission.objects.get(codename="view_dispute", content_type__app_label="disputes")
    )
    return let_in(client, user)


def opening(operator: Client, complaint: Complaint, **changes: Any) -> dict[str, Any]:
    """Open the page, and return its form: a chargeback of the whole payment."""
    return {
        "act": operator.get(OPEN).context["form"]["act"].value(),
        "payment": complaint.payment_id,
        "beginning": "needs_response",
        "amount": 12500,
        "reason": "duplicate",
        "bank_reference": complaint.bank_reference,
        "network_reason_code": "12.6",
        "why": WHY,
        **changes,
    }


def decide_page(complaint: Complaint) -> str:
    return reverse("admin:disputes_dispute_decide", args=[complaint.id])


def decided(operator: Client, complaint: Complaint, decision: str, **more: Any) -> Any:
    form = {"decision": decision, "seen": complaint.status, "why": WHY, **more}
    return operator.post(decide_page(complaint), form)


# --- Opening ----------------------------------------------------------------------------------


def test_an_operator_opens_a_dispute_with_a_reason(operator: Client, complaint: Complaint) -> None:
    opened = operator.post(OPEN, opening(operator, complaint))

    assert opened.status_code == 302
    shown = complaint.shown()
    assert (shown["status"], shown["reason"], shown["network_reason_code"]) == (
        "needs_response", "duplicate", "12.6",
    )  # fmt: skip
    assert movements(complaint.id) == ["dispute_opened"]
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user.email, entry.change_message) == (complaint.id, EMAIL, WHY)


def test_the_opening_is_told_by_a_piece_of_work_that_is_logged(
    operator: Client, complaint: Complaint
) -> None:
    operator.post(OPEN, opening(operator, complaint))

    [created] = complaint.events()
    cause = RequestLog.objects.get(id=created["request_id"])
    assert (created["type"], cause.path) == ("dispute.created", "operators.open_dispute")
    assert cause.merchant_id == complaint.shop.merchant.id


def test_an_operator_opens_an_inquiry_about_a_part(operator: Client, complaint: Complaint) -> None:
    changes = {"beginning": "warning_needs_response", "amount": 100, "bank_reference": ""}
    form = opening(operator, complaint, **changes)

    operator.post(OPEN, form)

    row = Dispute.objects.get()
    assert (row.status, row.amount, len(row.bank_reference)) == ("warning_needs_response", 100, 20)
    assert movements(row.id) == []


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 12501}, {"amount": 0}, {"amount": ""}, {"why": ""}, {"payment": "pi_unknown"},
        {"payment": ""}, {"reason": "moon"}, {"beginning": "won"}, {"due_by": "soon"},
        {"bank_reference": "no such id!"}, {"why": f"Card {GOOD_CARD}"}, {"amount": 2**63},
        {"payment": "pi_\x00"}, {"why": "a" * 501},
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_is_shown_again(
    operator: Client, complaint: Complaint, change: dict[str, Any]
) -> None:
    answer = operator.post(OPEN, opening(operator, complaint, **change))

    assert answer.status_code == 400
    assert (Dispute.objects.count(), LogEntry.objects.count()) == (0, 0)


def test_a_payment_that_took_nothing_is_not_disputed(
    operator: Client, complaint: Complaint
) -> None:
    declined = complaint.shop.pay(DECLINED_CARD)["id"]

    answer = operator.post(OPEN, opening(operator, complaint, payment=declined))

    assert answer.status_code == 400
    assert "nothing was captured" in answer.content.decode()


def test_the_banks_notice_of_a_dispute_that_is_open_already_opens_no_second(
    operator: Client, complaint: Complaint
) -> None:
    operator.post(OPEN, opening(operator, complaint))

    complaint.opened()

    assert (Dispute.objects.count(), complaint.is_notice_kept) == (1, False)


def test_a_form_that_is_sent_twice_opens_one(operator: Client, complaint: Complaint) -> None:
    form = opening(operator, complaint, bank_reference="")

    first, again = operator.post(OPEN, form), operator.post(OPEN, form)

    assert (first.status_code, again.status_code) == (302, 302)
    assert first.headers["Location"] == again.headers["Location"]
    dispute = Dispute.objects.get()
    assert (movements(dispute.id), dispute.intent.disputed_minor) == (["dispute_opened"], 12500)
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize("change", [{"amount": 100}, {"bank_reference": "another"}])
def test_a_form_that_is_sent_again_with_other_values_is_refused(
    operator: Client, complaint: Complaint, change: dict[str, Any]
) -> None:
    form = opening(operator, complaint)
    operator.post(OPEN, form)

    again = operator.post(OPEN, {**form, **change})

    assert (again.status_code, Dispute.objects.count()) == (400, 1)
    assert "sent before, with other values" in again.content.decode()


@pytest.mark.parametrize("beginning", ["needs_response", "warning_needs_response"])
def test_a_dispute_that_is_there_already_is_not_opened_again(
    operator: Client, complaint: Complaint, beginning: str
) -> None:
    complaint.opened(amount=100)

    answer = operator.post(OPEN, opening(operator, complaint, beginning=beginning, amount=100))

    assert answer.status_code == 400
    assert complaint.id in answer.content.decode()
    assert (Dispute.objects.count(), LogEntry.objects.count()) == (1, 0)


# --- Deciding ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "decision", "moved"),
    [
        ("needs_response", "won", ["dispute_opened", "dispute_won"]),
        ("under_review", "lost", ["dispute_opened", "dispute_lost"]),
        ("lost", "won", ["dispute_opened", "dispute_lost", "dispute_regained"]),
        ("won", "lost", ["dispute_opened", "dispute_won", "dispute_lost"]),
        ("warning_needs_response", "warning_closed", []),
        ("warning_closed", "needs_response", ["dispute_opened"]),
    ],
)
def test_an_operator_decides_with_a_reason(
    operator: Client, complaint: Complaint, start: str, decision: str, moved: list[str]
) -> None:
    STARTS[start](complaint)

    answer = decided(operator, complaint, decision)

    assert (answer.status_code, complaint.status) == (302, decision)
    assert movements(complaint.id) == moved
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user.email) == (complaint.id, EMAIL)
    assert entry.change_message.endswith(WHY)


def test_only_what_the_status_allows_is_offered(operator: Client, complaint: Complaint) -> None:
    complaint.opened()

    page = operator.get(decide_page(complaint)).content.decode()

    assert ('value="won"' in page, 'value="lost"' in page) == (True, True)
    assert 'value="warning_closed"' not in page


@pytest.mark.parametrize("start", ["won", "needs_response"])
def test_what_the_status_does_not_allow_is_refused(
    operator: Client, complaint: Complaint, start: str
) -> None:
    STARTS[start](complaint)

    answer = decided(operator, complaint, "warning_closed")

    assert (answer.status_code, complaint.status) == (400, start)
    assert LogEntry.objects.count() == 0


def test_a_decision_after_another_is_told_and_changes_nothing(
    operator: Client, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint.opened()
    as_shown = Dispute.objects.get(id=complaint.id)
    complaint.won()
    read = "payments.disputes.admin.DisputeAdmin.get_object"
    monkeypatch.setattr(read, lambda *_arguments, **_options: as_shown)

    answer = decided(operator, complaint, "lost", seen="needs_response")

    assert (answer.status_code, complaint.status) == (400, "won")
    assert "status, won, does not allow this" in answer.content.decode()


@pytest.mark.parametrize(("first", "then"), [("won", "lost"), ("lost", "won")])
def test_a_page_of_before_the_banks_word_does_not_turn_it_around(
    operator: Client, complaint: Complaint, first: str, then: str
) -> None:
    complaint.opened()
    page = operator.get(decide_page(complaint)).content.decode()
    getattr(complaint, first)()
    moved = movements(complaint.id)

    answer = decided(operator, complaint, then, seen="needs_response", due_by="")

    assert 'name="seen" value="needs_response"' in page
    assert (answer.status_code, complaint.status) == (400, first)
    assert movements(complaint.id) == moved
    # Now the page may decide about the status that it shows, with all that was typed.
    shown = answer.context["form"]
    assert {field.name: field.value() for field in shown} == {
        "decision": then, "seen": first, "why": WHY, "due_by": "",
    }  # fmt: skip


def test_a_dispute_that_was_lost_before_it_was_won_is_not_lost_by_an_operator(
    operator: Client, complaint: Complaint
) -> None:
    complaint.opened().lost().won()

    answer = decided(operator, complaint, "lost")

    assert (answer.status_code, complaint.status) == (400, "won")


def test_the_banks_later_word_wins_over_an_operators(
    operator: Client, complaint: Complaint
) -> None:
    complaint.opened()
    decided(operator, complaint, "lost")

    complaint.won()

    assert complaint.status == "won"


# --- Pages and permissions --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_may_only_look_may_not_act(reader: Client, complaint: Complaint, method: str) -> None:
    complaint.opened()

    acted = [getattr(reader, method)(page) for page in (OPEN, decide_page(complaint))]

    assert [answer.status_code for answer in acted] == [403, 403]
    read = reader.get(reverse("admin:disputes_dispute_change", args=[complaint.id]))
    assert read.status_code == 200


def test_nobody_acts_without_signing_in(client: Client, complaint: Complaint) -> None:
    complaint.opened()

    for page in (OPEN, decide_page(complaint)):
        assert client.post(page, {"decision": "won", "why": WHY}).status_code == 302
    assert complaint.status == "needs_response"


def test_an_unknown_dispute_is_no_page(operator: Client, complaint: Complaint) -> None:
    page = reverse("admin:disputes_dispute_decide", args=["dp_unknown"])

    assert operator.get(page).status_code == 404


def test_what_is_owed_to_the_bank_is_on_the_disputes_page(
    operator: Client, complaint: Complaint
) -> None:
    complaint.opened().submit(customer_name="Ayşe Yılmaz")

    page = operator.get(reverse("admin:disputes_dispute_change", args=[complaint.id]))

    assert "Owed" in page.content.decode()
    assert decide_page(complaint) in page.content.decode()


def test_notices_that_wait_are_found_and_tried_again(
    operator: Client, complaint: Complaint, notifier: Notifier
) -> None:
    complaint.told("dispute_won")
    assert complaint.is_notice_kept
    shown = reverse("admin:notices_notice_changelist")
    waiting = operator.get(f"{shown}?applied_at__isempty=1").content.decode()
    notifier.tell("dispute_opened", complaint.payment_id, dispute="BANK000000000000DP99")
    row = Notice.objects.get()

    done = operator.post(shown, {"action": "try_again", "_selected_action": [row.pk]})

    assert (done.status_code, complaint.bank_reference in waiting) == (302, True)
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user.email) == (str(row.pk), EMAIL)
    take_in()
    row.refresh_from_db()
    assert row.tries == 2


def test_who_may_only_look_lets_no_notice_be_tried_again(
    reader: Client, complaint: Complaint
) -> None:
    complaint.told("dispute_won")
    User.objects.get(email="reader@example.com").user_permissions.add(
        Permission.objects.get(codename="view_notice", content_type__app_label="notices")
    )
    shown, row = reverse("admin:notices_notice_changelist"), Notice.objects.get()

    page = reader.get(shown)
    reader.post(shown, {"action": "try_again", "_selected_action": [row.pk]})

    assert (page.status_code, "try_again" in page.content.decode()) == (200, False)
    assert Notice.objects.get().next_try_at == row.next_try_at
    assert LogEntry.objects.count() == 0
