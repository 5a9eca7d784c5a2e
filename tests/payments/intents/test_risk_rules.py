"""Rules that count: just under passes, the next is blocked; in sequence, and forty at once."""

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from core import clock
from payments.charging import risk_gate
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import (
    DECLINED_CARD,
    RETURN_URL,
    card,
    confirmation,
    three_d_secure,
    unconfirmed,
)
from tests.stage.races import deadlocks
from tests.stage.risky import APPROVED, BLOCKED, PAID, attempt_of, ended, paid_by, set_rule
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

DECLINED = ("requires_payment_method", "card_declined")
AT_ONCE = 40


def test_the_attempt_after_ten_with_a_card_is_blocked(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.RISK_RULES = {"card_velocity": "block"}
    passed = [ended(paid_by(acme)) for _ in range(10)]
    asked = len(bank.seen)

    blocked = paid_by(acme)

    assert passed == [PAID] * 10
    assert ended(blocked) == BLOCKED
    assert len(bank.seen) == asked  # The bank was not asked.
    assert ended(paid_by(acme, APPROVED[1])) == PAID


def test_a_blocked_payment_says_so_to_merchant_and_payer(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 1)
    paid_by(acme)

    answer = paid_by(acme)

    error, fraud = answer["last_payment_error"], answer["fraud"]
    assert (error["type"], error["advice_code"]) == ("card_error", "do_not_try_again")
    assert "velocity" not in error["message"]
    assert (fraud["status"], fraud["risk_level"], fraud["risk_score"], fraud["rule"]) == (
        "fraud", "highest", 85, "card_velocity",
    )  # fmt: skip
    shown = acme.get(f"/v1/payment_intents/{answer['id']}?expand[]=latest_attempt")
    attempt = shown["latest_attempt"]
    assert attempt["status"] == "failed"
    assert attempt["risk"] == {"level": "highest", "score": 85, "rule": "card_velocity"}
    assert acme.told(answer["id"]) == ["created", "payment_failed"]


def test_the_attempt_after_eight_declines_is_blocked(acme: ApiClient, bank: BankTransport) -> None:
    set_rule(acme.merchant, "card_declines", "block")
    set_rule(acme.merchant, "card_velocity", "off")

    told = [ended(paid_by(acme, DECLINED_CARD)) for _ in range(9)]

    assert told == [DECLINED] * 8 + [BLOCKED]


def test_a_bank_that_cannot_answer_declines_no_card(acme: ApiClient, bank: BankTransport) -> None:
    set_rule(acme.merchant, "card_declines", "block", 1)

    told = [ended(paid_by(acme, "4000000000000119"))[1] for _ in range(3)]

    assert told == ["processing_error"] * 3


def test_the_attempt_after_twenty_with_an_address_is_blocked(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "email_velocity", "block")

    told = [ended(paid_by(acme, APPROVED[turn % 4])) for turn in range(21)]

    assert told == [PAID] * 20 + [BLOCKED]


def test_the_sixth_other_card_with_an_address_is_blocked(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "email_cards", "block")

    told = [ended(paid_by(acme, number)) for number in APPROVED[:6]]
    again = [ended(paid_by(acme, APPROVED[0]))]

    assert told == [PAID] * 5 + [BLOCKED]
    assert again == [PAID]  # Four others so far.


@pytest.mark.parametrize("written", ["ILKAY@example.com", "ilkay@EXAMPLE.com", "Ilkay@Example.COM"])
def test_an_address_is_counted_however_it_is_written(
    written: str, acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "email_velocity", "block", 1)
    paid_by(acme, email="ilkay@example.com")

    assert ended(paid_by(acme, APPROVED[1], "i.lkay@example.com")) == PAID
    assert ended(paid_by(acme, APPROVED[1], written)) == BLOCKED


def test_what_is_older_than_the_window_is_not_counted(acme: ApiClient, bank: BankTransport) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 2)
    before = [ended(paid_by(acme)) for _ in range(3)]

    clock.advance(timedelta(minutes=59))
    still = ended(paid_by(acme))
    clock.advance(timedelta(minutes=2))
    after = ended(paid_by(acme))

    assert (before, still, after) == ([PAID, PAID, BLOCKED], BLOCKED, PAID)


def test_blocked_tries_do_not_prolong_a_block(acme: ApiClient, bank: BankTransport) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 1)
    paid_by(acme)
    for _ in range(3):
        clock.advance(timedelta(minutes=15))
        assert ended(paid_by(acme)) == BLOCKED
    clock.advance(timedelta(minutes=16))

    assert ended(paid_by(acme)) == PAID


def test_a_merchants_payers_are_not_counted_at_another(
    acme: ApiClient, globex: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.RISK_RULES = {"card_velocity": "block/1", "email_velocity": "block/1"}
    paid_by(globex)

    assert [ended(paid_by(acme)), ended(paid_by(acme))] == [PAID, BLOCKED]


@pytest.mark.parametrize(("rule", "numbers"), [("card_velocity", 1), ("email_velocity", 8)])
def test_of_forty_at_once_no_more_pass_than_the_rule_lets(
    rule: str, numbers: int, acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, rule, "block", 10)

    told = forty(acme, numbers)

    assert told == {PAID: 10, BLOCKED: AT_ONCE - 10}
    assert Attempt.objects.filter(is_counted=True).count() == 10


def test_a_planted_rule_whose_payments_do_not_wait_for_each_other_is_found(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(risk_gate, "LOCK", "SELECT pg_advisory_xact_lock_shared(%s, %s)")

    with pytest.raises(AssertionError):
        test_of_forty_at_once_no_more_pass_than_the_rule_lets("card_velocity", 1, acme, bank)


def test_of_forty_declines_at_once_no_more_are_tried_than_an_hours_worth(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "card_declines", "block", 1)
    assert ended(paid_by(acme, DECLINED_CARD)) == DECLINED

    told = together([partial(insist, acme.twin(), DECLINED_CARD) for _ in range(AT_ONCE)])

    assert Counter(told) == {BLOCKED: AT_ONCE}


def test_of_forty_cards_at_once_an_address_gets_as_many_as_the_rule_lets(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "email_cards", "block", 3)

    forty(acme, len(APPROVED))

    cards = Attempt.objects.filter(is_counted=True).values("card_fingerprint").distinct()
    assert cards.count() == 3  # The fourth has three others.


def test_cards_and_addresses_that_cross_never_lock_each_other_out(
    acme: ApiClient, bank: BankTransport
) -> None:
    for rule in ("card_velocity", "email_velocity", "card_declines", "email_cards"):
        set_rule(acme.merchant, rule, "block", 1000)
    before = deadlocks()

    told = together(
        [
            partial(insist, acme.twin(), APPROVED[turn % 3], f"payer{turn % 2}@example.com")
            for turn in range(AT_ONCE)
        ]
    )

    assert Counter(told) == {PAID: AT_ONCE}
    assert deadlocks() == before


def forty(client: ApiClient, numbers: int) -> Counter:
    calls = [partial(insist, client.twin(), APPROVED[turn % numbers]) for turn in range(AT_ONCE)]
    return Counter(together(calls))


def insist(client: ApiClient, number: str, email: str | None = None) -> tuple[str, str | None]:
    """Pay; again, as a merchant does, if others held the lock for three seconds."""
    while (answer := paid_by(client, number, email)).status == 409:
        assert answer.error["code"] == "lock_timeout"
    return ended(answer)


# --- The other deeds --------------------------------------------------------------------------


@pytest.mark.parametrize("wish", ["automatic", "none"])
def test_a_rule_can_demand_authentication_whatever_the_merchant_wishes(
    wish: str, acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "country_mismatch", "authenticate")

    answer = paid_by(acme, return_url=RETURN_URL, **three_d_secure(wish))
    turkish = paid_by(acme, APPROVED[1], return_url=RETURN_URL, **three_d_secure(wish))

    assert answer["status"] == "requires_action"
    assert answer["three_d_secure"]["effective"] == "required"
    assert (answer["fraud"]["status"], answer["fraud"]["rule"]) == ("clear", "country_mismatch")
    assert ended(turkish) == PAID


def test_without_a_return_url_a_demand_is_refused_and_nothing_is_stored(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "country_mismatch", "authenticate")

    answer = paid_by(acme)

    assert answer.refusal == (400, "parameter_missing", "return_url")
    assert not Attempt.objects.exists()


def test_a_large_payment_is_taken_and_reviewed(acme: ApiClient, bank: BankTransport) -> None:
    set_rule(acme.merchant, "amount", "review", 20_000, currency="try")

    passed, taken = paid_by(acme, amount=20_000), paid_by(acme, amount=20_001)

    assert (passed["fraud"]["status"], passed["fraud"]["risk_score"]) == ("clear", 12)
    assert (ended(taken), taken["fraud"]["status"]) == (PAID, "review")
    assert (taken["fraud"]["rule"], taken["fraud"]["risk_level"]) == ("amount", "elevated")


def test_a_soft_decline_and_what_follows_it_are_one_attempt(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 2)
    number = "4000002760003184"

    told = [ended(paid_by(acme, number, return_url=RETURN_URL))[0] for _ in range(3)]

    assert told == ["requires_action", "requires_action", "requires_payment_method"]
    assert Attempt.objects.filter(is_counted=True).count() == 2
    assert not Attempt.objects.filter(is_declined=True).exists()


def test_a_blocked_confirm_keeps_the_payment_open_for_another_card(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 1)
    paid_by(acme)
    made = acme.post("/v1/payment_intents", unconfirmed())
    path = f"/v1/payment_intents/{made['id']}/confirm"

    blocked = acme.post(path, confirmation())
    paid = acme.post(path, confirmation(APPROVED[1]))

    assert (ended(blocked), ended(paid)) == (BLOCKED, PAID)
    assert (blocked["fraud"]["status"], paid["fraud"]["status"]) == ("fraud", "clear")
    assert len(paid["attempts"]) == 2
    assert acme.told(made["id"]) == ["created", "payment_failed", "succeeded"]


def test_a_blocked_payment_is_answered_again_by_its_key(
    acme: ApiClient, bank: BankTransport
) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 1)
    paid_by(acme)
    made = acme.post("/v1/payment_intents", unconfirmed())
    path = f"/v1/payment_intents/{made['id']}/confirm"

    first = acme.post(path, confirmation(), idempotency_key="k")
    again = acme.post(path, confirmation(), idempotency_key="k")

    assert ended(first) == BLOCKED
    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"


def test_an_honest_shop_is_never_stopped(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.RISK_RULES = {
        "card_velocity": "block", "card_declines": "block", "email_velocity": "block",
        "email_cards": "block", "card_testing": "authenticate",
    }  # fmt: skip

    told = Counter(
        ended(paid_by(acme, APPROVED[turn % 8], f"payer{turn}@example.com")) for turn in range(40)
    )

    assert told == {PAID: 40}


def test_the_attempt_keeps_fingerprints_and_no_address(
    acme: ApiClient, bank: BankTransport
) -> None:
    attempt = attempt_of(paid_by(acme, email="someone@example.com"))

    assert attempt.card_fingerprint == attempt.sealed_card.fingerprint
    assert len(attempt.email_fingerprint or "") == 64
    assert card()["number"] not in str(vars(attempt))
    assert "someone" not in str(vars(attempt))
