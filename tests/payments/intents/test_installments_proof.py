"""Quote, attempt, payment, event, ledger and the bank's book tell one story of installments."""

from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any, NamedTuple

import pytest

from ledger.models import LedgerEntry
from merchants.models import InstallmentPlan
from payments.intents.models import Attempt
from testbank.models import Authorization
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL, three_d_secure
from tests.stage.lengths import chance, length, tried
from tests.stage.plans import PROGRAMS, agree, plan
from tests.stage.threeds import authenticate

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
PAYMENTS = length(short=12, full=600)
AMOUNT_MAX = 10**12 - 1
# Amounts at which rounding and splitting turn, beside any.
EDGES = (1, 2, 3, 11, 12, 13, 99, 100, 101, 181, 182, 9_999, 10_000, 10_001, AMOUNT_MAX)


class Case(NamedTuple):
    """One payment: its card, amount, plan, and the way in which its money is taken."""

    number: str
    amount: int
    plan: InstallmentPlan
    is_manual: bool
    is_authenticated: bool


@pytest.mark.proof(part="money")
def test_every_book_has_the_quoted_figures(acme: ApiClient, bank: BankTransport) -> None:
    acme.merchant.non_secure_limits.update(per_payment=None)
    draws = chance("installments")
    for number in range(PAYMENTS):
        case = drawn(draws, number)
        agree(acme.merchant, case.plan)
        assert_one_story(acme, case)
    assert_audit_is_clean()
    tried(PAYMENTS, "payments in installments")


def drawn(draws: Random, number: int) -> Case:
    """Draw a case; edges come by turns, and every count and card with them."""
    cards = list(PROGRAMS)
    is_edge = draws.random() < 0.5
    any_size = draws.randint(1, 10 ** draws.randint(1, 12) - 1)
    card = cards[number % len(cards)]
    program = draws.choice([None, PROGRAMS[card]])
    bps = draws.choice([0, 1, 49, 50, 275, 549, 4999, 5000, draws.randint(0, 5000)])
    return Case(
        number=card,
        amount=draws.choice(EDGES) if is_edge else any_size,
        plan=plan(2 + number % 11, bps, program=program),
        is_manual=draws.random() < 0.5,
        is_authenticated=draws.random() < 0.3,
    )


def assert_one_story(client: ApiClient, case: Case) -> None:
    count, bps = case.plan.installments, case.plan.surcharge_rate_bps
    # Worked out in another way than the service does.
    exact = Decimal(case.amount) * bps / 10_000
    surcharge = int(exact.quantize(Decimal(1), ROUND_HALF_UP))
    whole = case.amount + surcharge
    query = f"bin={case.number[:8]}&amount={case.amount}&currency=try"
    options = client.get(f"/v1/installments?{query}")["options"]
    if whole < count:
        assert [option["installments"] for option in options] == [1]
        assert client.pay(case.number, **terms(case)).error["code"] == "installments_not_available"
        return
    quoted = options[1]
    assert (quoted["installments"], quoted["surcharge_rate_bps"]) == (count, bps)
    assert (quoted["surcharge"], quoted["amount_charged"]) == (surcharge, whole)
    others = (count - 1) * quoted["installment_amount"]
    assert quoted["first_installment_amount"] + others == whole
    assert 1 <= quoted["installment_amount"] <= quoted["first_installment_amount"]

    paid = charged(client, case, surcharge)

    assert (paid["installments"], paid["surcharge"]) == (count, surcharge)
    assert (paid["amount_charged"], paid["amount_received"]) == (whole, case.amount)
    [told] = [one for one in client.events_of(paid["id"]) if one["type"].endswith(".succeeded")]
    assert told["data"]["object"] == paid
    attempt = Attempt.objects.get(intent_id=paid["id"])
    kept = (attempt.installments, attempt.surcharge, attempt.surcharge_rate_bps, attempt.program)
    assert kept == (count, surcharge, bps, PROGRAMS[case.number])
    assert booked(attempt) == {"acquirer": -whole, "surcharge": surcharge}
    order = Authorization.objects.get(reference=attempt.acquirer_reference)
    assert (order.installments, order.amount, order.captured_amount) == (count, whole, whole)


def terms(case: Case) -> dict[str, Any]:
    manual = {"capture_method": "manual"} if case.is_manual else {}
    secure = three_d_secure("required") if case.is_authenticated else {}
    wish = {"amount": case.amount, "installments": case.plan.installments}
    return {**wish, **manual, **secure, "return_url": RETURN_URL}


def charged(client: ApiClient, case: Case, surcharge: int) -> dict[str, Any]:
    """Walk the case's way to its money; return the payment as it is shown then."""
    begun = client.pay(case.number, surcharge=surcharge, **terms(case))
    assert begun.status == 200, begun.body
    if case.is_authenticated:
        authenticate(begun)
    if case.is_manual:
        client.post(f"{PATH}/{begun['id']}/capture")
    return client.payment(begun["id"]).body


def booked(attempt: Attempt) -> dict[str, int]:
    """Return what the charge wrote for the bank and for the installments."""
    rows = LedgerEntry.objects.filter(movement__charge_id=attempt.id)
    amounts = rows.values_list("account__kind", "amount")
    return {"surcharge": 0, **{kind: sum_ for kind, sum_ in amounts if kind in TOLD}}


TOLD = ("acquirer", "surcharge")
