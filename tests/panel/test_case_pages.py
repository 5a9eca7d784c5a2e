"""Cases at the desk: the list, the evidence, notes, owners, and the decision's own page."""

from html import unescape
from typing import Any

import pytest
from django.test import Client

from acquirers.conversation import leases
from cases import cases
from cases.models import Case
from cases.states import CaseDecision
from core.context import ActorKind
from merchants.models import AuditEntry, RequestLog, User
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.teams import let_in
from tests.stage.undecided import (
    REASON,
    YES,
    a_case_of,
    a_day_passes,
    an_operator,
    attempt_of,
    decide,
    silent_case,
    silent_modification,
    silent_refund,
    the_bank_says,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LIST = "/admin/desk/cases/"
SECTIONS = (
    "Payment", "Attempts", "Questions to the bank", "Bank’s line", "Ledger", "Events",
    "Request logs", "Notes",
)  # fmt: skip


@pytest.fixture
def operator() -> User:
    return an_operator()


@pytest.fixture
def desk(client: Client, operator: User) -> Client:
    return let_in(client, operator)


@pytest.fixture
def case(acme: ApiClient, bank: BankTransport) -> Case:
    return silent_case(acme)


def page(case: Case, *parts: str) -> str:
    return "/".join([f"{LIST}{case.id}", *parts, ""])


def press(desk: Client, case: Case, decision: str = "charged", **changes: Any) -> Any:
    sent = {"decision": decision, "reason": REASON, "seen": case.version, **changes}
    return desk.post(page(case, "decide"), sent)


def text(answer: Any) -> str:
    return unescape(answer.content.decode())


def test_the_list_has_open_cases_by_age_or_amount(
    desk: Client, acme: ApiClient, bank: BankTransport
) -> None:
    small, large = silent_case(acme, amount=500), silent_case(acme, amount=99_000)

    by_age, by_amount = text(desk.get(LIST)), text(desk.get(f"{LIST}?order=amount"))

    assert by_age.index(small.intent_id) < by_age.index(large.intent_id)
    assert by_amount.index(large.intent_id) < by_amount.index(small.intent_id)
    assert f'href="{page(small)}"' in by_age
    assert "₺990.00" in by_age


def test_the_filters_narrow_the_list(
    desk: Client, operator: User, case: Case, acme: ApiClient
) -> None:
    other = a_case_of(acme.pay()["id"])
    cases.assign(operator, other.id, operator)

    def listed(query: str) -> list[bool]:
        shown = text(desk.get(f"{LIST}?{query}"))
        return [one.intent_id in shown for one in (case, other)]

    assert listed("") == [True, True]
    assert listed("kind=unknown_outcome") == [True, False]
    assert listed("owner=mine") == [False, True]
    assert listed("owner=nobody") == [True, False]
    assert listed("status=resolved") == [False, False]
    assert listed(f"merchant={acme.merchant.id}") == [True, True]
    assert desk.get(f"{LIST}?kind=nonsense").status_code == 400
    assert desk.get(f"{LIST}?page=400").status_code == 200


def test_the_evidence_is_all_there(desk: Client, case: Case, operator: User) -> None:
    a_day_passes()

    shown = text(desk.get(page(case)))

    attempt = attempt_of(case)
    for heading in SECTIONS:
        assert f"<h2>{heading}</h2>" in shown, heading
    for told in (
        case.id, case.intent_id, attempt.id, attempt.acquirer_reference, attempt.request_id,
        "payment_intent.processing", "Nothing was booked.", "pending: not decided", "unknown",
        "/v1/payment_intents", "Next question to the bank", "₺125.00",
    ):  # fmt: skip
        assert told in shown, told
    assert "4000001100000058" not in shown


def test_the_evidence_shows_what_was_booked(desk: Client, case: Case, operator: User) -> None:
    decide(operator, case, CaseDecision.CHARGED)

    shown = text(desk.get(page(case)))

    assert "operators.decide_case" in shown  # Among the request logs.
    assert "<td>charge</td>" in shown
    assert f"by {operator}" in shown
    assert page(case, "decide") not in shown


def test_a_bank_that_cannot_be_read_hides_nothing_else(
    desk: Client, case: Case, bank: BankTransport
) -> None:
    bank.fault = "garble"

    shown = text(desk.get(page(case)))

    assert "The bank's statement cannot be read" in shown
    assert attempt_of(case).id in shown


def test_notes_and_owner(desk: Client, case: Case, operator: User) -> None:
    noted = desk.post(page(case, "notes"), {"text": "They call back <b>at noon</b>."})
    owned = desk.post(page(case, "owner"), {"owner": operator.pk})

    shown = text(desk.get(page(case)))
    assert (noted.status_code, owned.status_code) == (303, 303)
    assert "They call back <b>at noon</b>." in shown
    assert "<b>at noon</b>" not in desk.get(page(case)).content.decode()
    assert Case.objects.get().owner == operator
    assert desk.post(page(case, "notes"), {"text": " "}).status_code == 400
    assert desk.post(page(case, "owner"), {"owner": "999"}).status_code == 400
    entries = AuditEntry.objects.filter(subject=case.id).order_by("sequence")
    assert [one.action for one in entries] == ["case.noted", "case.assigned"]
    assert {(one.actor, one.actor_id, one.address) for one in entries} == {
        (ActorKind.OPERATOR, str(operator.pk), "127.0.0.1")
    }


# --- The decision -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "status"), [("charged", "succeeded"), ("not_charged", "requires_payment_method")]
)
def test_a_decision_is_pressed(
    decision: str, status: str, desk: Client, case: Case, operator: User, acme: ApiClient
) -> None:
    asked = text(desk.get(page(case, "decide")))
    assert case.id in asked
    assert "Reason" in asked

    answer = press(desk, case, decision)

    assert (answer.status_code, answer["Location"]) == (303, page(case))
    assert acme.payment(case.intent_id)["status"] == status
    entry = AuditEntry.objects.get(action="case.decided")
    assert (entry.actor, entry.actor_id) == (ActorKind.OPERATOR, str(operator.pk))
    assert (entry.address, entry.reason) == ("127.0.0.1", REASON)
    event = acme.events_of(case.intent_id)[-1]
    log = RequestLog.objects.get(id=event["request_id"])
    assert (log.kind, log.ip, entry.request_id) == ("job", None, log.id)


@pytest.mark.parametrize(
    ("act", "decision", "status"),
    [("capture", "charged", "succeeded"), ("capture", "not_charged", "requires_capture"),
     ("cancel", "released", "canceled"), ("cancel", "not_released", "requires_capture")],
)  # fmt: skip
def test_a_capture_or_a_release_is_decided_by_its_own_words(
    act: str, decision: str, status: str, desk: Client, acme: ApiClient, bank: BankTransport
) -> None:
    case = silent_modification(acme, bank, act)
    asked = text(desk.get(page(case, "decide")))
    other = "released" if act == "capture" else "charged"
    assert ("awaits its capture again" in asked, f'value="{decision}"' in asked) == (True, True)
    assert {"capture": "of the capture of ₺125.00", "cancel": "of the void"}[act] in asked
    assert f'value="{other}"' not in asked
    assert press(desk, case, other).status_code == 400

    answer = press(desk, case, decision)

    assert (answer.status_code, answer["Location"]) == (303, page(case))
    assert acme.payment(case.intent_id)["status"] == status
    assert AuditEntry.objects.get(action="case.decided").after["decision"] == decision


@pytest.mark.parametrize(
    ("decision", "status"), [("released", "succeeded"), ("not_released", "failed")]
)
def test_a_refund_is_decided_with_its_evidence(
    decision: str, status: str, desk: Client, acme: ApiClient, bank: BankTransport
) -> None:
    case = silent_refund(acme, bank, 4000)
    shown, asked = text(desk.get(page(case))), text(desk.get(page(case, "decide")))
    assert "of the refund of ₺40.00" in shown
    assert ("<td>refund</td>" in shown, case.operation_id in asked) == (True, True)
    assert "may refund once more" in asked

    assert press(desk, case, decision).status_code == 303

    assert acme.refunded(case.operation_id)["status"] == status
    event = acme.events_of(case.operation_id)[-1]
    assert RequestLog.objects.get(id=event["request_id"]).path == "operators.decide_case"


def test_the_banks_word_wins_and_is_said(desk: Client, case: Case, acme: ApiClient) -> None:
    the_bank_says(YES)

    answer = press(desk, case, "not_charged")

    assert answer.status_code == 303
    assert "The bank has answered" in text(desk.get(page(case)))
    assert acme.payment(case.intent_id)["status"] == "succeeded"


def assert_undecided(case: Case) -> None:
    case.refresh_from_db()
    assert (case.status, case.decision) == ("open", None)
    assert attempt_of(case).status == "processing"


@pytest.mark.parametrize(
    "changes",
    [{"reason": ""}, {"reason": "too short"}, {"reason": "x" * 1001}, {"decision": ""},
     {"decision": "acknowledged"}, {"seen": "x"}, {"reason": "The card 4242424242424242 it was."}],
)  # fmt: skip
def test_a_form_that_is_not_right_comes_back_as_it_was(
    changes: dict[str, str], desk: Client, case: Case
) -> None:
    answer = press(desk, case, **changes)

    assert answer.status_code == 400
    kept = changes.get("reason", REASON)
    assert (kept in text(answer)) == ("4242424242424242" not in kept)
    assert_undecided(case)


def test_while_the_bank_is_being_asked_the_page_says_so_and_keeps_the_words(
    desk: Client, case: Case
) -> None:
    with leases.held(attempt_of(case)):
        answer = press(desk, case)

    assert answer.status_code == 409
    assert "being asked about this payment at this moment" in text(answer)
    assert REASON in text(answer)
    assert_undecided(case)
    assert press(desk, case).status_code == 303


def test_a_stale_page_says_who_has_decided_and_keeps_the_words(desk: Client, case: Case) -> None:
    decide(an_operator("other@pay.example"), case, CaseDecision.NOT_CHARGED)

    answer = press(desk, case, "charged", reason="I have spoken to Mr Kaya.")

    assert answer.status_code == 409
    assert "other@pay.example has decided meanwhile" in text(answer)
    assert "I have spoken to Mr Kaya." in text(answer)
    assert attempt_of(case).status == "failed"
    assert AuditEntry.objects.filter(action="case.decided").count() == 1


def test_a_case_that_was_opened_again_is_acknowledged(
    desk: Client, case: Case, operator: User
) -> None:
    decide(operator, case, CaseDecision.NOT_CHARGED)
    the_bank_says(YES)
    a_day_passes()

    stale = press(desk, case, "acknowledged")
    case.refresh_from_db()
    done = press(desk, case, "acknowledged")

    assert (stale.status_code, done.status_code) == (409, 303)
    case.refresh_from_db()
    assert (case.status, case.decision) == ("resolved", "acknowledged")


def test_a_get_decides_nothing(desk: Client, case: Case) -> None:
    asked = f"?decision=charged&reason={REASON}&seen={case.version}"

    assert desk.get(page(case, "decide") + asked).status_code == 200
    assert desk.get(page(case, "notes") + "?text=Mine.").status_code == 200
    assert desk.get(page(case, "owner") + f"?owner={case.pk}").status_code == 200
    assert not case.notes.exists()
    assert_undecided(case)


def test_without_the_token_nothing_is_decided(case: Case, operator: User) -> None:
    client = let_in(Client(enforce_csrf_checks=True), operator)

    assert press(client, case).status_code == 403
    assert_undecided(case)


def test_a_reader_sees_all_and_changes_nothing(client: Client, case: Case) -> None:
    let_in(client, an_operator("reader@pay.example", "view_case"))

    assert client.get(page(case)).status_code == 200
    assert page(case, "decide") not in text(client.get(page(case)))
    assert press(client, case).status_code == 403
    assert client.get(page(case, "decide")).status_code == 403
    assert client.post(page(case, "notes"), {"text": "Mine."}).status_code == 403
    assert client.post(page(case, "owner"), {"owner": ""}).status_code == 403
    assert_undecided(case)


def test_an_unknown_case_is_not_there(desk: Client) -> None:
    for address in ("case_unknown", "case_%00"):
        assert desk.get(f"{LIST}{address}/").status_code == 404
        assert desk.post(f"{LIST}{address}/decide/").status_code == 404
