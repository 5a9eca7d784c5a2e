"""A payment page against programs and thieves; honest payers beside them are never refused."""

from collections import Counter
from typing import Any

import pytest

from core import limits
from payments.checkout import floods
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened, session
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD
from tests.stage.payment_pages import Payer

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WRONG_NUMBER = "4242424242424241"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "counts_here", limits.CountHere(names=100))


@pytest.fixture
def payer() -> Payer:
    return Payer()


def from_network(address: str) -> Payer:
    payer = Payer()
    payer.browser.defaults["REMOTE_ADDR"] = address
    return payer


# --- Forms of others ----------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["cross-site", "same-site"])
def test_a_form_of_another_site_charges_nothing(
    acme: ApiClient, bank: BankTransport, payer: Payer, said: str
) -> None:
    made = opened(acme)
    form = payer.open(made["url"])
    payer.headers["Sec-Fetch-Site"] = said

    refused = payer.press(form)
    looked_at = payer.open(made["url"])
    payer.headers["Sec-Fetch-Site"] = "same-origin"
    paid = payer.follow(payer.press(form))

    assert (refused.status, looked_at.status) == (403, 203)
    assert "Nothing was charged" in refused.text
    assert "Payment complete" in paid.text


# --- Programs -----------------------------------------------------------------------------------


def test_a_program_that_fills_in_every_field_has_to_press_twice(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made = opened(acme)

    first = payer.press(payer.open(made["url"]), note_2="hello")
    second = payer.press(first, note_2="hello", number=WRONG_NUMBER)
    third = payer.follow(payer.press(second, note_2="hello"))

    assert (first.status, second.status) == (400, 400)
    assert "Press the button once more" in first.text
    assert "a digit is missing or wrong" in second.text
    assert "Payment complete" in third.text
    assert limits.note(f"limit:refused_press:{made['id']}", limit=3, seconds=600) > 0


def test_after_the_first_such_press_the_card_was_not_looked_at(
    acme: ApiClient, payer: Payer
) -> None:
    made = opened(acme)

    shown = payer.press(payer.open(made["url"]), note_2="x", number=WRONG_NUMBER)

    assert "a digit is missing" not in shown.text
    assert 'name="note_2"' in shown.source
    assert 'tabindex="-1" autocomplete="off"' in shown.source


def test_after_twenty_refused_presses_a_page_waits(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    made, other = opened(acme), opened(acme)
    form = payer.open(made["url"])
    told = [payer.press(form, cvc="1") for _ in range(21)]

    paid = payer.follow(payer.press(form))

    assert [page.status for page in told] == [400] * 20 + [429]
    assert 0 < int(told[-1].headers["Retry-After"]) <= 600
    assert "Nothing was charged. Wait" in told[-1].text
    assert "Payment complete" in paid.text  # A right press is never refused.
    assert payer.press(payer.open(other["url"]), cvc="1").status == 400


# --- Networks -----------------------------------------------------------------------------------


def test_a_network_that_has_failed_too_often_waits_before_the_bank_is_asked(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.CHECKOUT_FAILURES_PER_MINUTE = 3
    thief, honest = from_network("203.0.113.7"), from_network("203.0.113.8")
    page, theirs = opened(acme)["url"], opened(acme)["url"]
    declined = [thief.press(thief.open(page), number=DECLINED_CARD) for _ in range(3)]
    asked = len(bank.seen)

    refused = thief.press(thief.open(page), number=DECLINED_CARD)

    assert [one.status for one in declined] == [303] * 3
    assert refused.status == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert len(bank.seen) == asked
    assert "Payment complete" in honest.pay(theirs).text
    assert "Payment complete" in thief.pay(opened(acme)["url"]).text  # A page's first try.


def test_a_try_that_succeeds_is_not_counted(
    acme: ApiClient, bank: BankTransport, payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Any] = []
    monkeypatch.setattr(floods, "count_failure", counted.append)

    for _ in range(3):
        assert "Payment complete" in payer.pay(opened(acme)["url"]).text
    form = payer.open(opened(acme)["url"])
    for _ in range(2):  # The second press of one form is no try.
        payer.press(form, number=DECLINED_CARD)

    assert counted == ["127.0.0.1"]


def test_the_attempt_has_a_keyed_fingerprint_of_the_payers_network(
    acme: ApiClient, bank: BankTransport
) -> None:
    made = [opened(acme) for _ in range(3)]
    for one, address in zip(made, ("203.0.113.7", "203.0.113.7", "203.0.113.8"), strict=True):
        from_network(address).pay(one["url"])

    kept = [Attempt.objects.get(intent=one["payment_intent"]).network_fingerprint for one in made]

    assert kept[0] == kept[1] != kept[2]
    assert None not in kept


def test_payers_of_a_network_with_many_declines_must_authenticate(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.RISK_RULES = {"address_declines": "authenticate/2"}
    thief = from_network("2001:db8:1:2::1")
    for _ in range(2):
        thief.pay(opened(acme)["url"], number=DECLINED_CARD)
    made = opened(acme)

    neighbour = from_network("2001:db8:1:2:ffff::9")
    stopped = neighbour.press(neighbour.open(made["url"]))

    assert stopped.headers["Location"].startswith("/3ds/")
    assert session(acme, made["id"])["status"] == "open"


# --- A crowd ------------------------------------------------------------------------------------


def test_honest_payers_beside_a_thief_at_the_limit_are_never_refused(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.CHECKOUT_FAILURES_PER_MINUTE = 4
    network = "203.0.113.7"
    thief = from_network(network)
    page = opened(acme)["url"]
    until = [thief.press(thief.open(page), number=DECLINED_CARD).status for _ in range(5)]

    statuses = Counter(honest(acme, from_network(network), turn) for turn in range(40))

    assert until == [303] * 4 + [429]
    assert statuses == {"paid": 38, "declined": 2}


def honest(shop: ApiClient, payer: Payer, turn: int) -> str:
    """Pay; of 20 payers three first type something wrong, and one is declined."""
    form = payer.open(opened(shop)["url"])
    if turn % 20 in (1, 2, 3):
        form = payer.press(form, cvc="12")
        assert form.status == 400
    number = {"number": DECLINED_CARD} if turn % 20 == 4 else {}
    end = payer.follow(payer.press(form, **number))
    assert end.status in (200, 203), end.text
    return "paid" if "Payment complete" in end.text else "declined"
