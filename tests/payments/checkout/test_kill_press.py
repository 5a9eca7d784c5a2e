"""kill -9 of a web worker at every boundary of a press on a payment page (I3, I5, I7, I8)."""

from functools import partial
from typing import Any

import pytest
import requests

from core import clock
from payments.checkout import following
from payments.checkout.models import CheckoutSession
from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.audited import assert_audit_is_clean
from tests.stage.checkouts import ends, opened, session
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD
from tests.stage.kills import (
    AS_A_CARD_IS_HELD,
    AS_THE_TRY_IS_COUNTED,
    BOUNDARIES,
    PRESSES_BOUNDARIES,
    PROOF_OF_KILLS,
    Installation,
    until,
    until_believed,
    until_swept,
)
from tests.stage.lengths import length
from tests.stage.payment_pages import Payer, Shown
from tests.stage.plans import BONUS, agree, plan
from tests.stage.stories import assert_charged_at_most_once, assert_one_event_per_change
from tests.stage.sweeper import leases_run_out

pytestmark = PROOF_OF_KILLS

SENT = PRESSES_BOUNDARIES[2:]  # From here on the bank has heard of it.


@pytest.fixture
def made(acme: ApiClient) -> Any:
    return opened(acme, expires_at=int(clock.now().timestamp()) + 20 * 86_400)


@pytest.fixture
def form(made: Any) -> Shown:
    return Payer().open(made["url"])


def status() -> str:
    return CheckoutSession.objects.get().status


def is_paid(answer: requests.Response) -> bool:
    """Return whether a press has led to a page that says it; in between others say to wait."""
    assert answer.status_code == 303, (answer.status_code, answer.text)
    return "Payment complete" in Payer().open(answer.headers["Location"]).text


def assert_paid_once(acme: ApiClient, made: Any, amount: int = 12500) -> None:
    assert len(bank_books.orders()) == Attempt.objects.count() == 1
    assert assert_charged_at_most_once(made["payment_intent"]) == amount
    told = assert_one_event_per_change(made["payment_intent"])
    now = session(acme, made["id"])
    assert (told[-1], now["status"], now["payment_status"]) == ("succeeded", "complete", "paid")
    assert (now["tries"], ends(acme, made["id"])) == (1, ["completed"])
    assert "Payment complete" in Payer().open(made["url"] + "/back").text
    assert_audit_is_clean()


@pytest.mark.parametrize(
    "boundary", length(short=["after_the_bank_answered"], full=PRESSES_BOUNDARIES)
)
def test_after_a_kill_the_next_press_of_the_form_charges_once(
    boundary: str, installation: Installation, acme: ApiClient, made: Any, form: Shown
) -> None:
    installation.start(boundary)
    installation.dies_during(partial(installation.press, form))

    until(lambda: is_paid(installation.press(form)))

    assert_paid_once(acme, made)


@pytest.mark.only_full("another press of the form goes on as the sweeper does")
@pytest.mark.parametrize("boundary", SENT)
def test_after_a_kill_the_sweeper_alone_completes_the_session(
    boundary: str, installation: Installation, acme: ApiClient, made: Any, form: Shown
) -> None:
    installation.start(boundary)
    installation.start_sweeper()
    installation.dies_during(partial(installation.press, form))

    until_swept(lambda: status() == "complete")

    assert_paid_once(acme, made)
    assert is_paid(installation.press(form))
    assert_paid_once(acme, made)


@pytest.mark.only_full("another press of the form goes on as one of another form does")
@pytest.mark.parametrize("boundary", PRESSES_BOUNDARIES)
def test_after_a_kill_a_press_of_another_form_charges_once_or_waits(
    boundary: str, installation: Installation, acme: ApiClient, made: Any, form: Shown
) -> None:
    other = Payer().open(made["url"])
    installation.start(boundary)
    installation.dies_during(partial(installation.press, form))

    answer = installation.press(other)

    if boundary in (AS_THE_TRY_IS_COUNTED, BOUNDARIES[3]):  # Nothing began, or all has ended.
        assert answer.status_code == 303
    else:
        page = Payer().open(made["url"])
        assert (answer.status_code, "Please do not pay again." in page.text) == (303, True)
        until(lambda: is_paid(installation.press(form)))
    assert_paid_once(acme, made)


@pytest.mark.only_full("the sweeper gives it up as it does a payment without a page")
def test_what_never_reached_the_bank_is_never_charged_and_the_page_takes_a_card_again(
    installation: Installation, acme: ApiClient, made: Any, form: Shown
) -> None:
    installation.start("after_the_first_transaction")
    installation.start_sweeper()
    installation.dies_during(partial(installation.press, form))
    until(lambda: acme.payment(made["payment_intent"])["status"] == "processing")

    until_believed(
        lambda: acme.payment(made["payment_intent"])["status"] == "requires_payment_method"
    )
    assert bank_books.orders() == []
    page = Payer().open(made["url"])
    assert (page.status, session(acme, made["id"])["tries"]) == (203, 0)
    assert is_paid(installation.press(page))
    assert len(bank_books.orders()) == 1
    assert_audit_is_clean()


@pytest.mark.only_full("a decline ends as a charge does")
@pytest.mark.parametrize("boundary", PRESSES_BOUNDARIES[1:4])
def test_a_kill_within_a_try_counts_it_once(
    boundary: str, installation: Installation, acme: ApiClient, made: Any, form: Shown
) -> None:
    installation.start(boundary)
    installation.dies_during(partial(installation.press, form, number=DECLINED_CARD))

    until(
        lambda: (
            installation.press(form, number=DECLINED_CARD).status_code == 303
            and Attempt.objects.get().status == "failed"
        )
    )

    assert (session(acme, made["id"])["tries"], Attempt.objects.count()) == (1, 1)
    assert "did not accept this payment" in Payer().open(made["url"]).text
    assert_audit_is_clean()


@pytest.mark.only_full("the first step's press dies in the gate")
@pytest.mark.parametrize("boundary", PRESSES_BOUNDARIES)
def test_after_a_kill_the_choice_of_installments_is_charged_once(
    boundary: str, installation: Installation, acme: ApiClient, made: Any, form: Shown
) -> None:
    agree(acme.merchant, plan(3, 275))
    choice = Payer().press(form, number=BONUS)
    installation.start(boundary)
    installation.dies_during(partial(installation.press, choice, installments="3"))

    until(lambda: is_paid(installation.press(choice, installments="3")))

    assert_paid_once(acme, made, 12_844)


@pytest.mark.only_full("no bank is asked where the form is shown again")
def test_a_kill_between_the_held_card_and_its_code_asks_for_the_card_again(
    installation: Installation, acme: ApiClient, made: Any, form: Shown
) -> None:
    installation.start(AS_A_CARD_IS_HELD)
    installation.dies_during(partial(installation.press, form, email=""))

    again = Payer().press(form, email="")

    assert (again.status, session(acme, made["id"])["tries"]) == (400, 0)
    assert is_paid(installation.press(again))
    assert_paid_once(acme, made)


@pytest.mark.planted
def test_the_check_sees_a_session_that_did_not_follow_its_payment(
    installation: Installation,
    acme: ApiClient,
    made: Any,
    form: Shown,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installation.start("after_the_bank_answered")
    installation.dies_during(partial(installation.press, form))
    monkeypatch.setattr(following, "_open_session", lambda _intent: None)
    leases_run_out()

    until(
        lambda: (
            Payer().press(form) and acme.payment(made["payment_intent"])["status"] == "succeeded"
        )
    )

    with pytest.raises(AssertionError):
        assert_paid_once(acme, made)
