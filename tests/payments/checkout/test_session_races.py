"""Requests that meet over one session: one session per payment, one end, never a cut-off payer."""

from collections import Counter

import pytest

from core import context
from payments.checkout import creation, expiry
from payments.checkout.models import CheckoutSession
from payments.checkout.states import ExpirationReason
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import SESSIONS, ends, opened, over, session, waiting
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import confirmation
from tests.stage.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

TWENTY = 20
ROUNDS = 6


def twenty_at_once(acme: ApiClient, payment: str) -> list[Answer]:
    twins = [acme.twin() for _ in range(TWENTY)]
    return at_once([lambda c=c: over(c, payment) for c in twins])


def test_of_twenty_sessions_for_one_payment_one_stands(acme: ApiClient) -> None:
    payment = waiting(acme)

    answers = twenty_at_once(acme, payment)

    made = [one for one in answers if one.status == 200]
    refused = {one.error["code"] for one in answers if one.status != 200}
    assert len(made) == 1
    # A busy machine may let some of them wait for the lock too long.
    assert refused <= {"checkout_session_unexpected_state", "lock_timeout"}
    assert CheckoutSession.objects.get().id == made[0]["id"]


def test_without_the_rule_the_database_still_keeps_one(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = waiting(acme)
    monkeypatch.setattr(creation, "_refuse_second", lambda _intent: None)

    answers = twenty_at_once(acme, payment)

    assert Counter(one.status for one in answers)[200] == 1
    assert CheckoutSession.objects.count() == 1


def test_success_and_expiry_that_meet_end_it_once(acme: ApiClient, bank: BankTransport) -> None:
    ended: Counter[str] = Counter()
    for _ in range(ROUNDS):
        made = opened(acme)
        payer, shop = acme.twin(), acme.twin()
        path = f"/v1/payment_intents/{made['payment_intent']}/confirm"

        at_once([
            lambda path=path, payer=payer: payer.post(path, confirmation()),
            lambda made=made, shop=shop: shop.post(f"{SESSIONS}/{made['id']}/expire"),
        ])  # fmt: skip

        ended[_assert_whole(acme, made["id"])] += 1
    assert ended.total() == ROUNDS
    assert_audit_is_clean()


def test_a_confirm_that_began_before_the_job_is_not_cut_off(
    acme: ApiClient, bank: BankTransport
) -> None:
    made = opened(acme)

    looked = []

    def run_out() -> None:
        with context.work():
            looked.append(expiry._run_out(made["id"], ExpirationReason.TIME))

    bank.meanwhile = run_out
    paid = acme.post(f"/v1/payment_intents/{made['payment_intent']}/confirm", confirmation())

    assert (paid["status"], len(looked)) == ("succeeded", 1)
    assert _assert_whole(acme, made["id"]) == "complete"


def _assert_whole(acme: ApiClient, session_id: str) -> str:
    """Assert that session and payment ended alike, and return how."""
    now = session(acme, session_id)
    payment = acme.payment(now["payment_intent"])["status"]
    assert (now["status"], payment) in {("complete", "succeeded"), ("expired", "canceled")}
    assert len(ends(acme, session_id)) == 1
    return now["status"]
