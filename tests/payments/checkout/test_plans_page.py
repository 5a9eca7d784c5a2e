"""The second step: a domestic credit card may pay in parts, of the whole that the page shows."""

from datetime import timedelta
from typing import Any

import pytest

from core import clock
from payments.charging import confirmation
from payments.checkout.models import CheckoutSession
from payments.checkout.tasks import destroy_held_cards
from payments.intents.models import Attempt, PaymentIntent
from testbank import behaviours
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened, session
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, GOOD_CARD, SILENT_CARD
from tests.stage.payment_pages import Payer
from tests.stage.plans import AXESS, BONUS, agree, plan
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def payer() -> Payer:
    return Payer()


@pytest.fixture
def declining(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the number of a card that may pay in parts, and that its bank declines."""
    monkeypatch.setitem(behaviours.CARDS, AXESS, behaviours.INSUFFICIENT_FUNDS)
    return AXESS


@pytest.fixture(autouse=True)
def _plans(acme: ApiClient) -> None:
    agree(acme.merchant, plan(2), plan(3, 275), plan(6, 550))


def chosen(payer: Payer, made: Any, **typed: str) -> Any:
    """Type a card that may pay in parts; return the page that asks how."""
    return payer.press(payer.open(made["url"]), number=BONUS, **typed)


def test_a_payer_pays_in_three_parts(acme: ApiClient, bank: BankTransport, payer: Payer) -> None:
    made = opened(acme)

    page = chosen(payer, made)
    paid = payer.follow(payer.press(page, installments="3"))

    assert page.status == 200
    for words in ("One payment ₺125.00", "2 × ₺62.50, total ₺125.00", "3 × ₺42.81, total ₺128.44"):
        assert words in page.text
    assert "•••• 0000" in page.text
    assert BONUS not in page.source
    assert "Payment complete" in paid.text
    attempt = Attempt.objects.get()
    assert (attempt.installments, attempt.surcharge) == (3, 344)
    assert session(acme, made["id"])["surcharge"] == 344
    assert "₺128.44" in paid.text


def test_one_payment_is_chosen_beforehand(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    page = chosen(payer, opened(acme))

    assert page.inputs["installments"] == "1"
    assert "Payment complete" in payer.follow(payer.press(page)).text
    assert Attempt.objects.get().surcharge == 0


@pytest.mark.parametrize(("option", "counts"), [
    ({"enabled": False}, []), ({"max": 2}, [1, 2]), ({"max": 3}, [1, 2, 3]), ({}, [1, 2, 3, 6]),
])  # fmt: skip
def test_the_session_limits_the_choice(
    acme: ApiClient, bank: BankTransport, payer: Payer, option: dict, counts: list[int]
) -> None:
    made = opened(acme, payment_method_options={"card": {"installments": option}})

    page = chosen(payer, made)

    assert page.source.count('type="radio"') == len(counts)
    assert (page.status == 303) == (not counts)


def test_another_count_than_the_page_has_shown_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    page = chosen(payer, opened(acme))

    pages = [payer.press(page, installments=count) for count in ("4", "", "x", "-1", "03")]

    assert {page.status for page in pages} == {400}
    assert all("Choose how to pay." in page.text for page in pages)
    assert Attempt.objects.count() == 0
    assert "Payment complete" in payer.follow(payer.press(pages[-1], installments="2")).text


def test_a_plan_that_costs_something_else_by_now_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    page = chosen(payer, opened(acme))
    agree(acme.merchant, plan(3, 900))

    gone, dearer = payer.press(page, installments="6"), payer.press(page, installments="3")

    assert {gone.status, dearer.status} == {409}
    assert all("Nothing was charged." in one.text for one in (gone, dearer))
    assert Attempt.objects.count() == 0


def test_an_amount_that_changed_between_the_steps_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    page = chosen(payer, made)
    acme.post(f"/v1/payment_intents/{made['payment_intent']}", {"amount": 20000})

    refused = payer.press(page, installments="2")

    assert "The shop has changed the amount to ₺200.00." in refused.text
    assert Attempt.objects.count() == 0


def update(acme: ApiClient, made: Any, **changes: Any) -> None:
    answer = acme.post(f"/v1/payment_intents/{made['payment_intent']}", changes)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize(("shown", "changed", "number"), [
    (1, 2, BONUS), (2, 1, GOOD_CARD), (1, 3, BONUS),
])  # fmt: skip
def test_a_count_that_changed_under_an_open_form_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer, shown: int, changed: int, number: str
) -> None:
    agree(acme.merchant, plan(2), plan(3))
    made = opened(acme)
    update(acme, made, installments=shown)
    form = payer.open(made["url"])
    update(acme, made, installments=changed)

    refused = payer.press(form, number=number)

    assert refused.status == 409, refused.text
    assert (
        "The number or the price of the installments has changed. Nothing was charged."
        in refused.text
    )
    assert Attempt.objects.count() == 0
    assert ("agreed on" in refused.text) == (changed > 1)
    assert "Payment complete" in payer.follow(payer.press(refused, number=number)).text
    assert Attempt.objects.get().installments == changed


def test_a_count_that_changes_during_the_press_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, confirm = opened(acme), confirmation.confirm

    def confirmed(*of: Any, **press: Any) -> Any:
        monkeypatch.undo()
        update(acme, made, installments=2)
        return confirm(*of, **press)

    form = payer.open(made["url"])
    monkeypatch.setattr(confirmation, "confirm", confirmed)

    refused = payer.press(form, number=GOOD_CARD)

    assert (refused.status, Attempt.objects.count(), bank.seen) == (409, 0, [])
    assert PaymentIntent.objects.get().installments == 2


def test_a_count_that_changed_between_the_steps_is_not_charged(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    page = chosen(payer, made)
    update(acme, made, installments=2)

    refused = payer.press(page, installments="3")

    assert refused.status == 409
    assert Attempt.objects.count() == 0


def test_a_count_that_was_chosen_in_another_tab_is_not_charged_in_this_one(
    acme: ApiClient, bank: BankTransport, payer: Payer, declining: str
) -> None:
    made = opened(acme)
    form, other = payer.open(made["url"]), payer.open(made["url"])
    payer.press(payer.press(other, number=declining), installments="2")
    assert Attempt.objects.get().status == "failed"

    refused = payer.press(form, number=GOOD_CARD)

    assert refused.status == 409
    assert Attempt.objects.count() == 1


@pytest.mark.parametrize(("number", "said"), [
    (SILENT_CARD, "Please do not pay again."), (DECLINED_CARD, "did not accept this payment."),
    (GOOD_CARD, "Payment complete"),
])  # fmt: skip
def test_a_held_card_that_is_pressed_again_shows_the_end_of_the_first_press(
    acme: ApiClient, bank: BankTransport, payer: Payer, number: str, said: str
) -> None:
    page = payer.press(payer.open(opened(acme)["url"]), number=number, email="")

    ends_of = [payer.follow(payer.press(page)) for _ in range(3)]

    assert [said in end.text for end in ends_of] == [True] * 3
    assert not any("was open too long" in end.text for end in ends_of)
    assert Attempt.objects.count() == 1


def test_the_ticket_of_the_first_step_is_none_of_the_second(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)
    form, page = payer.open(made["url"]), chosen(payer, made)

    crossed = [
        payer.send(page.action, {"form": form.inputs["form"], "installments": "1"}),
        payer.send(form.action, {**form.filled(), "form": page.inputs["form"]}),
    ]

    assert [one.status for one in crossed] == [400, 400]
    assert Attempt.objects.count() == 0


def test_a_payment_with_a_count_keeps_it(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    terms = {"amount": 12500, "currency": "try", "installments": 3}
    made = acme.post(
        "/v1/checkout/sessions",
        {"payment_intent": acme.post("/v1/payment_intents", terms)["id"]},
    )

    form = payer.open(made["url"])
    refused = payer.press(form)
    page = payer.press(refused, number=AXESS)
    paid = payer.follow(payer.press(page))

    assert "The shop has agreed on 3 installments." in form.text
    assert "This card cannot pay in installments here." in refused.text
    assert page.source.count('type="radio"') == 1
    assert "Payment complete" in paid.text
    assert Attempt.objects.get().installments == 3


def test_a_payers_own_choice_that_was_declined_binds_no_other_card(
    acme: ApiClient, bank: BankTransport, payer: Payer, declining: str
) -> None:
    made = opened(acme)
    plans = payer.press(payer.open(made["url"]), number=declining)
    declined = payer.follow(payer.press(plans, installments="3"))
    assert PaymentIntent.objects.get().installments == 3

    assert "The shop has agreed" not in declined.text
    paid = payer.follow(payer.press(declined, number=GOOD_CARD))

    assert "Payment complete" in paid.text
    assert [one.installments for one in Attempt.objects.order_by("created_at")] == [3, 1]


def test_a_payer_chooses_anew_after_a_decline(
    acme: ApiClient, bank: BankTransport, payer: Payer, declining: str
) -> None:
    made = opened(acme)
    plans = payer.press(payer.open(made["url"]), number=declining)
    declined = payer.follow(payer.press(plans, installments="3"))

    page = payer.press(declined, number=BONUS)

    assert page.source.count('type="radio"') == 4
    assert "Payment complete" in payer.follow(payer.press(page, installments="6")).text
    assert [one.installments for one in Attempt.objects.order_by("created_at")] == [3, 6]


def test_a_count_of_the_shop_binds_after_a_decline_too(
    acme: ApiClient, bank: BankTransport, payer: Payer, declining: str
) -> None:
    made = opened(acme)
    update(acme, made, installments=2)
    declined = payer.follow(payer.press(payer.open(made["url"]), number=declining))

    refused = payer.press(declined, number=GOOD_CARD)

    assert "The shop has agreed on 2 installments" in declined.text
    assert refused.status == 400
    assert Attempt.objects.count() == 1


def test_a_held_card_that_nobody_uses_is_destroyed_in_a_quarter_of_an_hour(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    page = chosen(payer, opened(acme))
    clock.advance(timedelta(minutes=14))
    destroy_held_cards()
    assert not SealedCard.objects.get().is_destroyed

    clock.advance(timedelta(minutes=2))
    destroy_held_cards()

    assert SealedCard.objects.get().is_destroyed
    assert CheckoutSession.objects.get().held_card is None
    assert "Type your card again." in payer.press(page).text
    assert Attempt.objects.count() == 0


def test_a_used_card_is_none_of_the_held_ones(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    payer.press(chosen(payer, opened(acme)), installments="2")
    clock.advance(timedelta(minutes=20))

    destroy_held_cards()

    assert not SealedCard.objects.get().is_destroyed
