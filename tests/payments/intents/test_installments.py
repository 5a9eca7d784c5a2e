"""Payments in installments: decided at create, update and confirm, by card, currency and plan."""

from typing import Any

import pytest

from merchants.models import Merchant, NonSecureLimit
from payments.intents import non_secure
from payments.intents.models import Attempt, PaymentIntent
from testbank.models import Authentication, Authorization
from tests.stage.bank_transport import BankTransport
from tests.stage.bin_table import import_bins, line
from tests.stage.client import ApiClient
from tests.stage.factories import (
    DEBIT_CARD,
    GOOD_CARD,
    RETURN_URL,
    confirmation,
    payment,
    three_d_secure,
    unconfirmed,
)
from tests.stage.payer import open_challenge
from tests.stage.plans import AXESS, BONUS, agree, plan
from tests.stage.threads import at_once
from tests.stage.threeds import authenticate, challenged, hand_off

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
NOT_AVAILABLE = (400, "installments_not_available", "installments")
MISMATCH = (400, "surcharge_mismatch", "surcharge")
OPEN = {"amount": 12_000, "currency": "try"}


@pytest.fixture(autouse=True)
def _plans(acme: ApiClient) -> None:
    agree(acme.merchant, plan(3, 500, program="bonus"), plan(2), plan(6, 1000, minimum=20_000))


def assert_nothing_stored() -> None:
    assert not PaymentIntent.objects.exists()
    assert not Attempt.objects.exists()


# --- Create -----------------------------------------------------------------------------------


def test_a_payment_in_installments_costs_what_the_plan_says(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(BONUS, amount=12_000, installments=3)

    assert (paid["status"], paid["installments"], paid["surcharge"]) == ("succeeded", 3, 600)
    assert (paid["amount_charged"], paid["amount_received"]) == (12_600, 12_000)
    attempt = Attempt.objects.get()
    assert (attempt.installments, attempt.surcharge) == (3, 600)
    assert (attempt.surcharge_rate_bps, attempt.program) == (500, "bonus")
    booked = Authorization.objects.get()
    assert (booked.installments, booked.amount) == (3, 12_600)


def test_a_payment_at_once_keeps_the_programme_of_its_card(
    acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay(BONUS)

    attempt = Attempt.objects.get()
    assert (attempt.surcharge_rate_bps, attempt.program) == (0, "bonus")


@pytest.mark.parametrize("count", [0, -1, 100, "3", 3.0, True, 2**63, [3]])
@pytest.mark.parametrize("door", ["create", "update", "confirm"])
def test_another_form_of_a_count_is_refused(
    count: Any, door: str, acme: ApiClient, bank: BankTransport
) -> None:
    if door == "create":
        answer = acme.post(PATH, payment(BONUS, installments=count))
    else:
        payment_id = acme.post(PATH, unconfirmed(BONUS))["id"]
        path = f"{PATH}/{payment_id}" + ("/confirm" if door == "confirm" else "")
        answer = acme.post(path, {"installments": count})

    assert answer.refusal == (400, "parameter_invalid", "installments")
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("count", [2, 13, 99])
@pytest.mark.parametrize("door", ["", "/confirm"], ids=["update", "confirm"])
def test_a_count_that_no_plan_lists_is_refused_later_too(
    count: int, door: str, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.post(PATH, unconfirmed(BONUS, amount=12_000, installments=3))["id"]

    answer = acme.post(f"{PATH}/{payment_id}{door}", {"installments": count})

    assert answer.refusal == NOT_AVAILABLE
    assert acme.payment(payment_id)["installments"] == 3
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (BONUS, {"installments": 2}),  # Its programme has rows of its own.
        (BONUS, {"installments": 13}),
        (BONUS, {"installments": 99}),
        (AXESS, {"installments": 3}),
        (GOOD_CARD, {"installments": 2}),
        (DEBIT_CARD, {"installments": 2}),
        ("4111111111111111", {"installments": 2}),
        (BONUS, {"installments": 3, "currency": "usd"}),
        (BONUS, {"installments": 3, "amount": 2}),
        (AXESS, {"installments": 6, "amount": 19_999}),
    ],
)
def test_a_count_that_the_plans_do_not_offer_is_refused(
    number: str, changes: dict, confirm: bool, acme: ApiClient, bank: BankTransport
) -> None:
    sent = payment(number, confirm=confirm, return_url=RETURN_URL, **changes)

    assert acme.post(PATH, sent).refusal == NOT_AVAILABLE
    assert_nothing_stored()


@pytest.mark.parametrize("facts", [{"card_type": "prepaid"}, {"country": "DE"}])
def test_an_imported_fact_decides(facts: dict, acme: ApiClient, bank: BankTransport) -> None:
    import_bins(line(BONUS[:8], **facts))

    assert acme.pay(BONUS, installments=3).refusal == NOT_AVAILABLE


def test_a_part_that_is_a_minor_unit_is_enough(acme: ApiClient, bank: BankTransport) -> None:
    assert acme.pay(BONUS, installments=3, amount=3)["status"] == "succeeded"


@pytest.mark.parametrize("count", [None, 1])
def test_none_and_one_are_at_once(count: Any, acme: ApiClient, bank: BankTransport) -> None:
    assert acme.pay(installments=count)["installments"] == 1


@pytest.mark.parametrize(
    ("changes", "is_kept"),
    [({}, True), ({"currency": "usd"}, False), ({"installments": 4}, False)],
)
def test_without_a_card_a_count_that_some_plan_lists_is_kept(
    changes: dict, is_kept: bool, acme: ApiClient
) -> None:
    answer = acme.post(PATH, {**OPEN, "installments": 3, **changes})

    if is_kept:
        assert (answer["installments"], answer["surcharge"]) == (3, 0)
        assert acme.payment(answer["id"])["installments"] == 3
        assert acme.events_of(answer["id"])[0]["data"]["object"]["installments"] == 3
    else:
        assert answer.refusal == NOT_AVAILABLE
        assert_nothing_stored()


# --- The merchant's own figure ----------------------------------------------------------------


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize(
    ("surcharge", "is_right"), [(600, True), (599, False), (601, False), (0, False), (None, True)]
)
def test_a_surcharge_is_an_assertion(
    surcharge: Any, is_right: bool, confirm: bool, acme: ApiClient, bank: BankTransport
) -> None:
    sent = payment(BONUS, amount=12_000, installments=3, surcharge=surcharge, confirm=confirm)

    answer = acme.post(PATH, sent)

    if is_right:
        assert answer["surcharge"] == (600 if confirm else 0)
    else:
        assert answer.refusal == MISMATCH
        assert_nothing_stored()


@pytest.mark.parametrize("surcharge", [-1, "600", 600.0, True, 2**63, [600], {}])
@pytest.mark.parametrize("door", ["create", "confirm"])
def test_another_form_of_a_surcharge_is_refused(
    surcharge: Any, door: str, acme: ApiClient, bank: BankTransport
) -> None:
    if door == "create":
        answer = acme.post(PATH, payment(BONUS, amount=12_000, installments=3, surcharge=surcharge))
    else:
        payment_id = acme.post(PATH, unconfirmed(BONUS, amount=12_000, installments=3))["id"]
        answer = acme.post(f"{PATH}/{payment_id}/confirm", {"surcharge": surcharge})

    assert (answer.status, answer.error["param"]) == (400, "surcharge")
    assert not Attempt.objects.exists()


@pytest.mark.parametrize(("surcharge", "status"), [(0, 200), (600, 400)])
def test_without_a_card_the_surcharge_is_0(surcharge: int, status: int, acme: ApiClient) -> None:
    assert acme.post(PATH, {**OPEN, "installments": 3, "surcharge": surcharge}).status == status


@pytest.mark.parametrize(("surcharge", "is_right"), [(600, True), (599, False)])
def test_a_surcharge_is_asserted_at_confirm(
    surcharge: int, is_right: bool, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.post(PATH, unconfirmed(BONUS, amount=12_000, installments=3))["id"]

    answer = acme.post(f"{PATH}/{payment_id}/confirm", {"surcharge": surcharge})

    if is_right:
        assert (answer["status"], answer["surcharge"]) == ("succeeded", 600)
    else:
        assert answer.refusal == MISMATCH
        assert not Attempt.objects.exists()
        assert acme.payment(payment_id)["status"] == "requires_confirmation"


# --- Update -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"installments": 2}, NOT_AVAILABLE),
        ({"installments": None}, 1),
        ({"installments": 1}, 1),
        ({"amount": 2}, NOT_AVAILABLE),
        ({"amount": 2, "installments": 1}, 1),
        ({"currency": "usd"}, NOT_AVAILABLE),
        ({"amount": 30_000}, 3),
        ({"description": "Tea"}, 3),
    ],
)
def test_an_update_is_checked_as_a_create(
    changes: dict, expected: Any, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.post(PATH, unconfirmed(BONUS, amount=12_000, installments=3))["id"]

    answer = acme.post(f"{PATH}/{payment_id}", changes)

    if expected == NOT_AVAILABLE:
        assert answer.refusal == NOT_AVAILABLE
        assert acme.payment(payment_id)["installments"] == 3
    else:
        assert answer["installments"] == acme.payment(payment_id)["installments"] == expected


def test_an_update_without_a_card_takes_what_some_plan_lists(acme: ApiClient) -> None:
    payment_id = acme.post(PATH, OPEN)["id"]

    assert acme.post(f"{PATH}/{payment_id}", {"installments": 6})["installments"] == 6
    assert acme.post(f"{PATH}/{payment_id}", {"installments": 5}).refusal == NOT_AVAILABLE


# --- Confirm ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "charged"), [(None, 12_600), (1, 12_000), (3, 12_600)])
def test_a_confirm_has_its_own_count_or_the_payments(
    count: Any, charged: int, acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.post(PATH, {**OPEN, "installments": 3})["id"]

    paid = acme.post(f"{PATH}/{payment_id}/confirm", confirmation(BONUS, installments=count))

    assert (paid["amount_charged"], paid["installments"]) == (charged, count or 3)


def test_a_confirm_is_decided_by_the_card_at_hand(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.post(PATH, {**OPEN, "installments": 3})["id"]

    answer = acme.post(f"{PATH}/{payment_id}/confirm", confirmation(AXESS))

    assert answer.refusal == NOT_AVAILABLE
    assert not Attempt.objects.exists()
    assert acme.payment(payment_id)["status"] == "requires_payment_method"


def test_a_plan_that_changed_decides_anew_at_confirm(acme: ApiClient, bank: BankTransport) -> None:
    payment_id = acme.post(PATH, unconfirmed(BONUS, amount=12_000, installments=3))["id"]
    agree(acme.merchant, plan(3, 250, program="bonus"))
    assert acme.post(f"{PATH}/{payment_id}/confirm", {"surcharge": 600}).refusal == MISMATCH
    assert acme.post(f"{PATH}/{payment_id}/confirm")["surcharge"] == 300
    other = acme.post(PATH, unconfirmed(BONUS, installments=3))["id"]
    agree(acme.merchant)

    assert acme.post(f"{PATH}/{other}/confirm").refusal == NOT_AVAILABLE


@pytest.mark.both_banks
def test_a_plan_that_changes_at_the_bank_changes_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme, BONUS, amount=12_000, installments=3)
    agree(acme.merchant)

    authenticate(paid)

    shown = acme.payment(paid["id"])
    assert (shown["status"], shown["installments"]) == ("succeeded", 3)
    assert (shown["surcharge"], shown["amount_charged"]) == (600, 12_600)


def test_a_payers_second_try_is_on_its_own_terms(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme, BONUS, amount=12_000, installments=3)

    again = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(AXESS, installments=2))

    assert (again["status"], again["installments"]) == ("requires_action", 2)
    tries = Attempt.objects.order_by("created_at").values_list("installments", "surcharge")
    assert list(tries) == [(3, 600), (2, 0)]


def test_a_soft_decline_goes_on_with_the_same_count(acme: ApiClient, bank: BankTransport) -> None:
    agree(acme.merchant, plan(3, 500))
    import_bins(line("400000", program=""))

    paid = acme.pay("4000002760003184", amount=12_000, installments=3, return_url=RETURN_URL)
    authenticate(paid)

    assert acme.payment(paid["id"])["amount_charged"] == 12_600
    kept = Attempt.objects.values_list("installments", "surcharge", "surcharge_rate_bps")
    assert set(kept) == {(3, 600, 500)}
    assert Attempt.objects.count() == 2


@pytest.mark.parametrize("headers", [{}, {"idempotency_key": "k"}])
def test_a_refused_count_leaves_the_key_free(
    headers: dict, acme: ApiClient, bank: BankTransport
) -> None:
    sent = payment(AXESS, installments=3)
    assert acme.post(PATH, sent, **headers).refusal == NOT_AVAILABLE
    agree(acme.merchant, plan(3))

    assert acme.post(PATH, sent, **headers)["installments"] == 3


def test_a_retry_has_the_first_answer_whatever_the_plans_say_now(
    acme: ApiClient, bank: BankTransport
) -> None:
    sent = payment(BONUS, amount=12_000, installments=3)
    first = acme.post(PATH, sent, idempotency_key="k")
    agree(acme.merchant)

    assert acme.post(PATH, sent, idempotency_key="k").body == first.body
    other = acme.post(PATH, {**sent, "installments": 1}, idempotency_key="k")
    assert other.error["code"] == "idempotency_key_reused"


def test_another_merchants_plans_are_not_this_ones(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    assert globex.pay(BONUS, installments=3).refusal == NOT_AVAILABLE
    assert globex.post(PATH, {**OPEN, "installments": 3}).refusal == NOT_AVAILABLE


# --- Limits without authentication ------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "amount", "status"),
    [
        ("per_payment", 12_000, "succeeded"),
        ("per_payment", 12_001, "requires_action"),
        ("per_day", 12_000, "succeeded"),
        ("per_day", 12_001, "requires_action"),
    ],
)
def test_a_limit_counts_the_surcharge(
    bound: str, amount: int, status: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.merchant.non_secure_limits.filter(currency="try").update(
        **{"per_payment": None, "per_day": None, bound: 12_600}
    )

    paid = acme.pay(BONUS, amount=amount, installments=3, return_url=RETURN_URL)

    assert paid["status"] == status


def test_an_earlier_surcharge_counts_for_the_day(acme: ApiClient, bank: BankTransport) -> None:
    acme.merchant.non_secure_limits.filter(currency="try").update(per_day=25_199)
    acme.pay(BONUS, amount=12_000, installments=3)

    answer = acme.pay(BONUS, amount=12_000, installments=3, **three_d_secure("none"))

    assert answer.error["code"] == "non_secure_not_allowed"


@pytest.mark.parametrize("bound", ["per_payment", "per_day"])
def test_a_planted_limit_that_leaves_the_surcharge_out_is_found(
    bound: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow = non_secure.allow

    def without_surcharge(
        merchant: Merchant, *, amount: int, currency: str
    ) -> non_secure.Allowed | None:
        return allow(merchant, amount=amount * 100 // 105, currency=currency)

    monkeypatch.setattr(non_secure, "allow", without_surcharge)

    with pytest.raises(AssertionError):
        test_a_limit_counts_the_surcharge(bound, 12_001, "requires_action", acme, bank)


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_of_twenty_at_once_at_the_days_limit_none_is_too_many(
    acme: ApiClient, bank: BankTransport
) -> None:
    limits = NonSecureLimit.objects.filter(merchant=acme.merchant, currency="try")
    limits.update(per_payment=None, per_day=7 * 12_600)
    agree(acme.merchant, plan(3, 500, program="bonus"))
    body = payment(BONUS, amount=12_000, installments=3, **three_d_secure("none"))

    answers = at_once([lambda: acme.twin().post(PATH, body)] * 20)

    ended = sorted(one.status for one in answers if one.status in (200, 400))
    assert ended.count(200) == 7 or any(one.status == 409 for one in answers)
    taken = [one for one in Attempt.objects.all() if not one.authentication_demanded]
    assert sum(one.amount + one.surcharge for one in taken) <= 7 * 12_600


# --- The payer's pages ------------------------------------------------------------------------


def test_the_payer_sees_the_amount_the_count_and_the_parts(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme, BONUS, amount=12_001, installments=3)

    ours = hand_off(paid)
    theirs = open_challenge(ours.form.action)

    for page in (ours, theirs):
        assert "₺126.01" in page.text
        assert "3: ₺42.01 + 2\xa0×\xa0₺42.00" in page.text
    assert Authentication.objects.get().installments == 3


def test_a_payment_at_once_shows_no_installments(acme: ApiClient, bank: BankTransport) -> None:
    ours = hand_off(challenged(acme, BONUS))

    assert "Installments" not in ours.text + open_challenge(ours.form.action).text
