"""A payer who comes back while every slot at the acquirer is taken: nothing is lost to them."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from django.db import connections
from django.test import Client

from acquirers import slots
from tests.stage.all_taken import all_slots_taken
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import RETURN_URL
from tests.stage.kills import until
from tests.stage.payer import FORM, Page
from tests.stage.threeds import Arrival, bring, challenged, decide, return_of, return_to, shown

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture
def challenge(acme: ApiClient, bank: BankTransport) -> Answer:
    """A payment whose payer must go to the bank."""
    return challenged(acme)


@pytest.fixture
def others() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def nobody_waits_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "PAYER_WAITS_SECONDS", 0.01)


def arrival_of(fields: dict[str, str]) -> Arrival:
    try:
        return bring(fields)
    finally:
        connections.close_all()


def returned(fields: dict[str, str]) -> Page:
    response = Client().post(return_of(fields), urlencode(fields), content_type=FORM)
    return Page(response.status_code, dict(response.headers), response.content)


def test_a_payer_without_a_slot_may_send_the_same_answer_again(
    challenge: Answer, acme: ApiClient, nobody_waits_long: None
) -> None:
    fields = decide(challenge, "Approve").fields

    with all_slots_taken():
        page = returned(fields)

    assert (page.status, page.headers["Retry-After"]) == (503, "1")
    assert (page.form.method, page.form.action, page.form.fields) == (
        "post",
        return_to(challenge),
        fields,
    )
    assert list(page.form.buttons) == ["Finish the payment"]
    assert shown(acme, challenge)["status"] == "requires_action"
    assert bring(page.form.fields).location == f"{RETURN_URL}?payment_intent={challenge['id']}"
    assert shown(acme, challenge)["status"] == "succeeded"


def test_the_page_of_a_payer_without_a_slot_runs_nothing_and_leads_wherever_the_shop_is(
    challenge: Answer, nobody_waits_long: None
) -> None:
    fields = decide(challenge, "Approve").fields

    with all_slots_taken():
        page = returned(fields)

    assert page.headers["Content-Type"].startswith("text/html")
    assert page.policy["form-action"] == ["'self'", "http:"]
    assert page.policy["script-src"] == ["'self'"]
    assert page.inline == []
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert "no-store" in page.headers["Cache-Control"]


def test_a_payer_waits_for_a_slot(
    challenge: Answer, acme: ApiClient, others: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "PAYER_WAITS_SECONDS", 3600)
    fields = decide(challenge, "Approve").fields

    with all_slots_taken():
        arriving: Future[Arrival] = others.submit(arrival_of, fields)
        until(lambda: slots.places().waiting == 1)

    assert arriving.result().status == 302
    assert shown(acme, challenge)["status"] == "succeeded"


def test_payers_who_wait_leave_threads_to_others(
    challenge: Answer,
    others: ThreadPoolExecutor,
    settings: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slots, "PAYER_WAITS_SECONDS", 3600)
    settings.WEB_THREADS = slots.PAYERS_SHARE  # So that one may wait.
    fields = decide(challenge, "Approve").fields

    with all_slots_taken():
        first = others.submit(arrival_of, fields)
        until(lambda: slots.places().waiting == 1)
        second = arrival_of(fields)

    assert second.status == 503
    assert first.result().status == 302


def test_a_payer_who_said_no_needs_no_slot(challenge: Answer, acme: ApiClient) -> None:
    with all_slots_taken():
        arrival = bring(decide(challenge, "Reject").fields)

    assert arrival.status == 302
    assert shown(acme, challenge)["last_payment_error"]["code"] == "authentication_failed"


def test_who_presses_again_when_all_is_done_needs_no_slot(challenge: Answer) -> None:
    fields = decide(challenge, "Approve").fields
    bring(fields)

    with all_slots_taken():
        assert bring(fields).status == 302
