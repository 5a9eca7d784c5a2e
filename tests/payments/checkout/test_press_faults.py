"""Faults that are planted at the page's guards: what each guard keeps out gets in without it."""

from typing import Any

import pytest
from django.db import transaction

from payments.checkout import following, held_cards, links, paying, steps, tickets
from payments.checkout.models import CheckoutSession
from payments.intents import transition
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD
from tests.stage.payment_pages import Payer

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]


def charged_of(made: Any) -> list[int]:
    rows = Attempt.objects.filter(intent=made["payment_intent"], status="succeeded")
    return [one.amount for one in rows]


def test_without_the_comparison_of_the_mac_any_id_opens_a_page(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/pay/{opened(acme)['id']}.{'0' * 64}"
    kept_out = Payer().open(address).status
    monkeypatch.setattr(links.hmac, "compare_digest", lambda *_: True)

    assert (kept_out, Payer().open(address).status) == (404, 203)


def test_without_its_session_a_ticket_would_pay_another_one(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    monkeypatch.setattr(tickets, "_context", lambda _session, step: f"checkout.form|{step}")
    foreign, own = Payer().open(opened(acme)["url"]), Payer().open(made["url"])

    Payer().send(own.action, foreign.filled())

    assert charged_of(made) == [12500]


def test_without_its_step_a_ticket_would_skip_the_choice(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = Payer().open(opened(acme)["url"])
    kept_out = Payer().send(f"{form.action}/confirm", form.filled(installments="1"))
    monkeypatch.setattr(tickets, "_context", lambda session, _step: session.id)
    form = Payer().open(opened(acme)["url"])

    got_in = Payer().send(f"{form.action}/confirm", form.filled(installments="1"))

    assert (kept_out.status, got_in.status) == (400, 500)


def test_a_try_that_is_counted_after_the_bank_is_not_counted_if_the_process_dies(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    pay = steps.paying.pay

    def counted_late(session: CheckoutSession, choice: Any) -> None:
        pay(session, choice)
        raise RuntimeError("the process died before it counted")

    monkeypatch.setattr(held_cards, "use", lambda rows, _token, **_chosen: rows.exists())
    monkeypatch.setattr(paying, "pay", counted_late)
    for _ in range(8):
        Payer().press(Payer().open(made["url"]), number=DECLINED_CARD)

    assert (Attempt.objects.count(), CheckoutSession.objects.get().tries) == (8, 0)


def test_a_follower_outside_of_the_transaction_leaves_a_paid_session_open(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(acme)
    name = f"{following.follow.__module__}.{following.follow.__qualname__}"

    def follow_later(*change: Any) -> None:
        transaction.on_commit(lambda: following.follow(*change))

    def dies(*_change: Any) -> None:
        raise RuntimeError("the process died in between")

    monkeypatch.setitem(transition.FOLLOWERS, name, follow_later)
    monkeypatch.setattr(following, "follow", dies)
    Payer().press(Payer().open(made["url"]))

    assert PaymentIntent.objects.get().status == "succeeded"
    assert CheckoutSession.objects.get().status == "open"
