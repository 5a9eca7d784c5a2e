"""All that the simulated bank can do wrong at the doors of real protocols, and its payers too.

Whatever it is, no payment is charged twice or given back twice, none has failed while the bank may
hold its money, and in the end the bank's book, the ledger and the audit agree to the kuruş.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from urllib.parse import urlencode

import pytest

from core import clock
from payments.intents.models import Attempt, PaymentIntent
from testbank import misbehaviours
from testbank.models import Misbehaviour
from tests.stage import bank_books
from tests.stage.bank_days import end_the_day
from tests.stage.client import Answer, ApiClient
from tests.stage.door_world import DoorWorld, real_doors
from tests.stage.lengths import length, tried
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import Arrival, authenticate, bring, challenged, decide, return_to

pytestmark = [
    pytest.mark.proof(part="doors"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

DOORS = real_doors()
# The bank's name of a request, by what is asked for.
REQUESTS = {
    "NestPay": {
        "sale": "Auth", "capture": "PostAuth", "cancel": "Void", "void": "Void",
        "refund": "Credit", "inquiry": "ORDERHISTORY", "return": "return",
    },
    "Garanti": {
        "sale": "sales", "capture": "postauth", "cancel": "void", "void": "void",
        "refund": "refund", "inquiry": "orderhistoryinq", "return": "gt3dreturn",
    },
}  # fmt: skip
# Of the wire itself, which this process has not: the adapters' tests of answers have them.
OF_THE_WIRE = ("cut", "too_long", "wrong_type")
ANSWERS = [
    (door, step, kind)
    for door, requests in REQUESTS.items()
    for step, request in requests.items()
    for kind in misbehaviours.kinds_for(request)
    if step != "return" and kind not in OF_THE_WIRE
]
RETURNS = [
    (door, kind)
    for door, requests in REQUESTS.items()
    for kind in misbehaviours.kinds_for(requests["return"])
]
# Returns that the bank signed as it should; an amount that it does not sign is not read.
GOOD_RETURNS = {
    "NestPay": ("turkish_letters", "national_id"),
    "Garanti": ("turkish_letters", "national_id", "changed_amount"),
}
# These end the try: the bank refuses the proof, the authentication does not suffice, or the return
# is an unsigned refusal.
ENDING = ("attempted", "md_used", "md_too_old")
ENDING_AT = {"NestPay": (*ENDING, "no_md_status"), "Garanti": (*ENDING, "system_error")}
AN_HOUR = 3600


def of_each_kind(cases: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return a case of each kind, in turns at each door and step."""
    kinds = dict.fromkeys(kind for *_where, kind in cases)
    of_kind = [[case for case in cases if case[-1] == kind] for kind in kinds]
    return [found[number % len(found)] for number, found in enumerate(of_kind)]


@pytest.fixture
def world(door: str, db: None) -> Iterator[DoorWorld]:
    with DOORS[door].behind() as way:
        yield DoorWorld(DOORS[door], way)


@pytest.fixture
def shop(world: DoorWorld) -> ApiClient:
    return world.shop


def taken_by_bank() -> int:
    """Return what the bank has of all payments, in minor units."""
    return sum(one.captured_amount - sum(one.given_back) for one in bank_books.orders())


def held_by_bank() -> int:
    """Return what the bank has of all payments, or holds for them, in minor units."""
    return taken_by_bank() + sum(one.amount for one in bank_books.orders() if one.held)


def assert_no_end_is_shown_too_early() -> None:
    status = PaymentIntent.objects.get().status
    if status in ("requires_payment_method", "canceled"):
        assert held_by_bank() == 0
    if status == "requires_capture":
        assert taken_by_bank() == 0


def assert_comes_to_rest(world: DoorWorld) -> None:
    world.come_to_rest()
    # Garanti's histories show a day later that a hold has lapsed.
    clock.advance(timedelta(days=2))
    world.assert_books_agree()


# --- Answers ----------------------------------------------------------------------------------


def pay(shop: ApiClient) -> Answer:
    return shop.pay()


def pay_and_be_asked_about(shop: ApiClient) -> Answer:
    misbehaviours.plan("silent")
    paid = shop.pay()
    sweep_after(30)
    return paid


def capture(shop: ApiClient) -> Answer:
    held = shop.pay(capture_method="manual")
    return shop.post(f"/v1/payment_intents/{held['id']}/capture", {"amount_to_capture": 5000})


def cancel(shop: ApiClient) -> Answer:
    held = shop.pay(capture_method="manual")
    return shop.post(f"/v1/payment_intents/{held['id']}/cancel")


def void(shop: ApiClient) -> Answer:
    return shop.refund(shop.pay()["id"])


def refund(shop: ApiClient) -> Answer:
    paid = shop.pay()
    end_the_day()
    return shop.refund(paid["id"], 4000)


STEPS: dict[str, Callable[[ApiClient], Answer]] = {
    "sale": pay, "inquiry": pay_and_be_asked_about, "capture": capture, "cancel": cancel,
    "void": void, "refund": refund,
}  # fmt: skip


@pytest.mark.parametrize(
    ("door", "step", "kind"), length(short=of_each_kind(ANSWERS), full=ANSWERS)
)
def test_whatever_the_bank_answers_money_moves_once(
    door: str, step: str, kind: str, world: DoorWorld, shop: ApiClient
) -> None:
    misbehaviours.plan(kind, on=REQUESTS[door][step])

    answer = STEPS[step](shop)

    assert not Misbehaviour.objects.filter(times_left__gte=1).exists(), "nothing went wrong"
    assert answer.status < 500, answer.body
    assert_no_end_is_shown_too_early()
    assert_comes_to_rest(world)
    tried(1, "bad answers of a bank")
    orders = bank_books.orders()
    assert len(orders) <= 1
    assert all(len(one.given_back) <= 1 for one in orders)


# --- Returns ----------------------------------------------------------------------------------


def come_back(paid: Answer) -> Arrival:
    """Bring the bank's answer in the encoding that it names, as a browser does."""
    fields = decide(paid, "Approve").fields
    sent = urlencode(fields, encoding=fields.get("encoding", "utf-8"))
    return bring(sent.encode(), to=return_to(paid))


@pytest.mark.parametrize(("door", "kind"), length(short=of_each_kind(RETURNS), full=RETURNS))
def test_a_return_of_another_form_charges_nothing(
    door: str, kind: str, world: DoorWorld, shop: ApiClient
) -> None:
    paid = challenged(shop)
    misbehaviours.plan(kind, on=REQUESTS[door]["return"])

    arrival = come_back(paid)

    is_good, is_read = kind in GOOD_RETURNS[door], kind in (*GOOD_RETURNS[door], *ENDING_AT[door])
    assert arrival.status == (302 if is_read else 400)
    is_paid = shop.payment(paid["id"])["status"] == "succeeded"
    assert (is_paid, held_by_bank()) == ((True, 12500) if is_good else (False, 0))
    assert_comes_to_rest(world)


@pytest.mark.parametrize("door", DOORS)
def test_the_return_of_another_payment_charges_neither(
    door: str, world: DoorWorld, shop: ApiClient
) -> None:
    mine, others = challenged(shop), challenged(shop)
    fields = decide(others, "Approve").fields

    assert bring(fields, to=return_to(mine)).status == 400
    assert held_by_bank() == 0
    assert bring(fields, to=return_to(others)).status == 302

    states = [shop.payment(one["id"])["status"] for one in (mine, others)]
    assert (states, held_by_bank()) == (["requires_action", "succeeded"], 12500)
    assert_comes_to_rest(world)


@pytest.mark.parametrize("door", DOORS)
def test_a_return_before_the_button_was_pressed_changes_nothing(
    door: str, world: DoorWorld, shop: ApiClient
) -> None:
    waiting, others = challenged(shop), challenged(shop)
    fields = decide(others, "Approve").fields
    reference = Attempt.objects.get(intent_id=waiting["id"]).acquirer_reference
    made_up = {**fields, **{name: reference for name in ("oid", "orderid") if name in fields}}

    for sent in (fields, made_up):
        assert bring(sent, to=return_to(waiting)).status == 400

    assert shop.payment(waiting["id"])["status"] == "requires_action"
    assert authenticate(waiting).status == 302
    assert (shop.payment(waiting["id"])["status"], held_by_bank()) == ("succeeded", 12500)
    assert_comes_to_rest(world)


@pytest.mark.parametrize("door", DOORS)
def test_a_return_after_an_hour_charges_nothing(
    door: str, world: DoorWorld, shop: ApiClient
) -> None:
    paid = challenged(shop)
    fields = decide(paid, "Approve").fields
    sweep_after(AN_HOUR + 60)

    assert bring(fields).status == 302

    failed = shop.payment(paid["id"])
    assert failed["last_payment_error"]["reason"] == "authentication_abandoned"
    assert held_by_bank() == 0
    assert_comes_to_rest(world)
