"""Presses that meet: one charge at most, never another amount, never on an ended session."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as service

from core import context
from payments.checkout import expiry, paying
from payments.checkout.models import CheckoutSession
from payments.checkout.states import ExpirationReason
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import SESSIONS, ends, opened, session
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, confirmation
from tests.stage.lengths import length, tried
from tests.stage.payment_pages import Payer, Shown
from tests.stage.threads import team

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

PRESSES = length(short=12, full=40)
ROUNDS = length(short=3, full=20)
of_races = pytest.mark.proof(part="races")


def charged(**of: Any) -> list[Attempt]:
    return list(Attempt.objects.filter(status="succeeded", **of))


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    with team(len(calls)) as meet:
        return meet(calls)


def presses(forms: list[Shown], **typed: str) -> list[Callable[[], Shown]]:
    return [lambda form=form: Payer().press(form, **typed) for form in forms]


def assert_whole(acme: ApiClient, made: Any) -> None:
    """Assert that session and payment ended alike, once, and that the money is what was shown."""
    now = session(acme, made["id"])
    payment = PaymentIntent.objects.get(id=made["payment_intent"])
    is_paid = payment.status == "succeeded"
    assert (now["status"] == "complete") == is_paid
    assert len(charged(intent=payment)) == int(is_paid)
    assert len(ends(acme, made["id"])) == int(now["status"] != "open")
    assert_audit_is_clean()


@of_races
def test_many_presses_of_one_form_charge_once(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)
    form = Payer().open(made["url"])

    pages = together(presses([form] * PRESSES))

    tried(PRESSES, "presses of one form")
    assert {page.status for page in pages} <= {303, 503}
    assert Counter(page.status for page in pages)[303] >= 1
    assert_whole(acme, made)
    assert (Attempt.objects.count(), CheckoutSession.objects.get().tries) == (1, 1)


@of_races
def test_many_forms_of_one_session_charge_once(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)
    forms = [Payer().open(made["url"]) for _ in range(PRESSES)]

    together(presses(forms))

    tried(PRESSES, "forms of one session")
    assert_whole(acme, made)
    assert len(charged()) == 1


@of_races
def test_many_presses_on_the_last_try_send_one(acme: ApiClient, bank: BankTransport) -> None:
    made = opened(acme)
    CheckoutSession.objects.update(tries=service.CHECKOUT_TRIES_MAX - 1)
    forms = [Payer().open(made["url"]) for _ in range(PRESSES)]

    together(presses(forms, number=DECLINED_CARD))

    tried(PRESSES, "presses on the last try")
    assert Attempt.objects.count() == 1
    assert session(acme, made["id"])["expiration_reason"] == "too_many_tries"
    assert_whole(acme, made)


def test_another_form_does_not_deny_a_charge_while_the_bank_makes_it(
    acme: ApiClient, bank: BankTransport
) -> None:
    made, told = opened(acme), []
    first, other = (Payer().open(made["url"]) for _ in range(2))
    bank.meanwhile = lambda: told or told.extend(together(presses([other])))

    Payer().press(first)

    assert told[0].status == 303
    assert "Payment complete" in Payer().follow(told[0]).text
    assert len(charged()) == Attempt.objects.count() == 1


@of_races
@pytest.mark.parametrize("against", ["expire", "cancel", "update", "confirm"])
def test_a_press_meets_the_merchants_request(
    acme: ApiClient, bank: BankTransport, against: str
) -> None:
    for _ in range(ROUNDS):
        made = opened(acme)
        form, shop = Payer().open(made["url"]), acme.twin()
        payment = f"/v1/payment_intents/{made['payment_intent']}"
        requests = {
            "expire": (f"{SESSIONS}/{made['id']}/expire", {}),
            "cancel": (f"{payment}/cancel", {}),
            "update": (payment, {"amount": 99900}),
            "confirm": (f"{payment}/confirm", confirmation()),
        }

        together([
            *presses([form]), lambda of=requests[against], shop=shop: shop.post(*of)
        ])  # fmt: skip

        own = Attempt.objects.filter(intent=made["payment_intent"], status="succeeded")
        now = session(acme, made["id"])
        assert len(own) == int(now["status"] == "complete") <= 1
        assert [one.amount for one in own] in ([], [12500])
    tried(ROUNDS, f"presses that met {against}")
    assert_audit_is_clean()


def run_out(made: Any, *, looks: int = 0) -> bool:
    """End a session as the job does once its time is over, after so many looks at its page."""
    for _ in range(looks):
        Payer().open(made["url"])
    with context.work():
        return expiry._run_out(made["id"], ExpirationReason.TIME)


@of_races
def test_a_press_meets_the_job_that_ends_sessions(acme: ApiClient, bank: BankTransport) -> None:
    ended: Counter[str] = Counter()
    for turn in range(ROUNDS):
        made = opened(acme)
        form = Payer().open(made["url"])

        # A press needs longer to its lock than the job does.
        together([*presses([form]), lambda made=made, turn=turn: run_out(made, looks=turn % 5)])

        assert_whole(acme, made)
        own = Attempt.objects.filter(intent=made["payment_intent"])
        now = session(acme, made["id"])
        assert [one.amount for one in own] == [12500] * (now["status"] == "complete")
        assert now["expiration_reason"] in (None, "time")
        ended[now["status"]] += 1
    tried(ROUNDS, f"presses that met the job: {dict(ended)}")
    assert set(ended) <= {"complete", "expired"}


@pytest.mark.parametrize("is_known_busy", [True, False])
def test_the_job_cuts_no_press_off_while_the_bank_is_asked(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch, is_known_busy: bool
) -> None:
    if not is_known_busy:  # The planted fault.
        monkeypatch.setattr(expiry.ending, "is_busy", lambda _session: False)
    made, looked = opened(acme), []
    form = Payer().open(made["url"])
    bank.meanwhile = lambda: looked or looked.append(run_out(made))

    Payer().press(form)

    ended = (session(acme, made["id"])["status"], len(charged()))
    assert looked == [not is_known_busy]
    assert (ended == ("complete", 1)) == is_known_busy, ended


def test_without_the_look_at_the_amount_another_one_is_charged(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    form, confirm = Payer().open(made["url"]), paying._confirm

    def changed_meanwhile(*of: Any) -> Any:
        acme.twin().post(f"/v1/payment_intents/{made['payment_intent']}", {"amount": 99900})
        monkeypatch.setattr(paying, "_agree", lambda *_: lambda _intent: None)
        return confirm(*of)

    monkeypatch.setattr(paying, "_confirm", changed_meanwhile)
    Payer().press(form)

    assert [one.amount for one in charged()] == [99900]
