"""A card typed on a payment page goes on to a bank's gate from the browser that typed it alone.

Shops, webhooks and read-only keys have the hand-off's link, too; none of them gets the card by it.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from core.redis import client as redis
from payments.intents.models import Attempt
from payments.payer import three_d_secure as three_ds
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, GOOD_CARD, three_d_secure
from tests.stage.form_gateway import form_bank
from tests.stage.key_change import KeyChange, PurposeChange
from tests.stage.payment_pages import Payer, Shown
from tests.stage.plans import BONUS, agree, plan
from tests.stage.sweeper import Died, dies, leases_run_out

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

AUTHENTICATED = three_d_secure("required")


@pytest.fixture(autouse=True)
def _a_bank_with_a_gate(bank: BankTransport) -> Iterator[None]:
    with form_bank():
        yield


@pytest.fixture
def payer() -> Payer:
    return Payer()


@pytest.fixture
def led(acme: ApiClient, payer: Payer) -> Shown:
    """The answer to a press on the page, which leads to the hand-off."""
    return pressed(acme, payer)


def pressed(acme: ApiClient, payer: Payer, **typed: str) -> Shown:
    made = opened(acme, **AUTHENTICATED)
    answer = payer.press(payer.open(made["url"]), **typed)
    assert answer.status == 303
    return answer


def has_card(page: Any) -> bool:
    return GOOD_CARD in page.content.decode()


def link_of(acme: ApiClient) -> str:
    """Return the path of the link as the shop reads it."""
    payment = acme.payment(Attempt.objects.get().intent_id)
    return payment["next_action"]["redirect_to_url"]["url"].removeprefix(settings.BASE_URL)


def test_the_browser_that_typed_the_card_gets_the_form(
    acme: ApiClient, payer: Payer, led: Shown
) -> None:
    assert led.headers["Location"] == link_of(acme)

    button = payer.open(led.headers["Location"])
    gate = payer.browser.post(button.action)

    assert (gate.status_code, has_card(gate)) == (203, True)


@pytest.mark.parametrize("secret", [None, "A" * 43])
def test_whoever_has_the_link_gets_no_card_even_if_they_come_first(
    secret: str | None, acme: ApiClient, payer: Payer, led: Shown
) -> None:
    stranger = Client()
    if secret:
        stranger.cookies["payer"] = secret
    stranger.get(link_of(acme))

    page = stranger.post(link_of(acme))

    assert (page.status_code, has_card(page)) == (403, False)
    assert "pressed_at" not in Attempt.objects.get().hand_off
    assert has_card(payer.browser.post(link_of(acme)))


def test_a_payer_who_sends_the_form_again_is_still_known(acme: ApiClient, payer: Payer) -> None:
    made = opened(acme, **AUTHENTICATED)
    form = payer.open(made["url"])
    payer.press(form)
    payer.browser.cookies.clear()  # The first answer did not arrive.

    payer.press(form)

    assert has_card(payer.browser.post(link_of(acme)))


def test_a_payer_whose_first_press_died_is_known(acme: ApiClient, payer: Payer) -> None:
    made = opened(acme, **AUTHENTICATED)
    form = payer.open(made["url"])
    with dies(three_ds, "begin"), pytest.raises(Died):
        payer.press(form)
    leases_run_out()

    payer.press(form)

    assert has_card(payer.browser.post(link_of(acme)))


def test_a_choice_of_installments_brings_the_browser_too(acme: ApiClient, payer: Payer) -> None:
    agree(acme.merchant, plan(2), plan(3, 275))
    made = opened(acme, **AUTHENTICATED)
    page = payer.press(payer.open(made["url"]), number=BONUS)

    led = payer.press(page, installments="3")

    assert BONUS in payer.browser.post(led.headers["Location"]).content.decode()
    assert Client().post(link_of(acme)).status_code == 403


def test_a_choice_that_is_sent_again_is_still_known(acme: ApiClient, payer: Payer) -> None:
    agree(acme.merchant, plan(2), plan(3, 275))
    made = opened(acme, **AUTHENTICATED)
    page = payer.press(payer.open(made["url"]), number=BONUS)
    payer.press(page, installments="3")
    payer.browser.cookies.clear()  # The first answer did not arrive.

    payer.press(page, installments="3")

    assert BONUS in payer.browser.post(link_of(acme)).content.decode()


def test_a_form_that_is_sent_again_with_another_card_is_still_known(
    acme: ApiClient, payer: Payer
) -> None:
    made = opened(acme, **AUTHENTICATED)
    form = payer.open(made["url"])
    payer.press(form)
    payer.browser.cookies.clear()

    page = payer.press(form, number=DECLINED_CARD)

    assert "already sent" in page.text
    assert has_card(payer.browser.post(link_of(acme)))


def test_a_payer_is_known_after_a_change_of_the_key(
    acme: ApiClient, payer: Payer, key_change: KeyChange
) -> None:
    made = opened(acme, **AUTHENTICATED)
    form = payer.open(made["url"])
    led = payer.press(form)
    PurposeChange(key_change.path, "link").begin()

    button = payer.open(led.headers["Location"])
    assert button.action != led.headers["Location"]
    assert has_card(payer.browser.post(button.action))
    payer.browser.cookies.clear()
    assert has_card(payer.browser.post(payer.press(form).headers["Location"]))


def test_a_payer_who_is_not_known_is_led_to_the_page(
    acme: ApiClient, payer: Payer, led: Shown
) -> None:
    payer.browser.cookies.clear()

    refused = payer.send(led.headers["Location"], {})

    assert refused.status == 403
    again = payer.follow(payer.open(refused.links[-1]))
    assert "Use another card" in again.text


def test_a_security_code_lives_no_longer_for_being_held_once_more(
    acme: ApiClient, payer: Payer
) -> None:
    agree(acme.merchant, plan(2), plan(3, 275))
    made = opened(acme, **AUTHENTICATED)
    page = payer.press(payer.open(made["url"]), number=BONUS)
    [held] = redis().keys("held:*")
    redis().expire(held, 60)

    payer.press(page, installments="3")

    [held] = redis().keys("held:*")
    assert held.startswith(b"held:att_")
    assert redis().ttl(held) <= 60


def test_a_payment_page_that_leads_to_no_gate_sets_no_cookie(
    acme: ApiClient, payer: Payer, led: Shown
) -> None:
    made = opened(acme)
    page = payer.open(made["url"])
    declined = payer.press(page, number=DECLINED_CARD)

    assert [answer.headers.get("Set-Cookie") for answer in (page, declined)] == [None, None]
    assert [cookie["path"] for cookie in payer.browser.cookies.values()] == [
        led.headers["Location"]
    ]


def test_the_cookie_is_the_pages_alone(led: Shown, payer: Payer) -> None:
    cookie = payer.browser.cookies["payer"]

    assert cookie["path"] == led.headers["Location"]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 3600)
    assert cookie.value not in str(Attempt.objects.get().hand_off)
