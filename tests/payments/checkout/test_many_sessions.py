"""Very many sessions of one merchant: a page, a press, a list and the jobs read no more."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bench import buffers
from payments.checkout import held_cards, tasks
from payments.checkout.models import CheckoutSession
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import SESSIONS, opened
from tests.stage.client import ApiClient
from tests.stage.database_role import past_guards, vacuum
from tests.stage.lengths import length, tried
from tests.stage.payment_pages import Payer

pytestmark = [
    pytest.mark.proof(part="walks"),
    pytest.mark.django_db(databases=["default", "bank"], transaction=True),
]

ROWS = length(short=50_000, full=1_000_000)
# An index of a million rows is one or two pages deeper, and each question asks a few of them.
DEEPER_MAX = 12
PAYMENTS = ROWS // 100
# The newest session of each payment is open, with a card that it holds: neither is due.
FILL_PAYMENTS = """
    INSERT INTO intents_paymentintent
    SELECT copy.* FROM generate_series(1, %(payments)s) AS n, LATERAL (
        SELECT (jsonb_populate_record(made, jsonb_build_object(
            'id', 'pi_' || n, 'created_at', now() - n * interval '1 second'))).*
        FROM intents_paymentintent AS made WHERE merchant_id = %(merchant)s LIMIT 1) AS copy
"""
FILL = """
    INSERT INTO checkout_checkoutsession (
        id, merchant_id, intent_id, made_payment, status, expiration_reason, tries,
        billing_details, three_d_secure, installments_max, chosen_installments, metadata, locale,
        held_card, held_at, expires_at, ended_at, created_at)
    SELECT 'cs_' || lpad(n::text, 24, '0'), %(merchant)s, 'pi_' || 1 + n %% %(payments)s, true,
        CASE WHEN is_open THEN 'open' ELSE 'expired' END,
        CASE WHEN NOT is_open THEN 'time' END, 0, '{}', 'automatic', 12, 1, '{}', 'auto',
        CASE WHEN is_open THEN 'tok_' || n END, CASE WHEN is_open THEN now() END,
        now() + interval '1 day', CASE WHEN NOT is_open THEN now() END,
        now() - n * interval '1 second'
    FROM (SELECT n, n <= %(payments)s AS is_open FROM generate_series(1, %(rows)s) AS n) AS made
"""

Work = Callable[[], Any]


def works(acme: ApiClient) -> Iterator[tuple[str, Work]]:
    """Everything that is done with a session, by its name."""
    payer, made = Payer(), opened(acme)
    form = payer.open(made["url"])
    yield "create", lambda: opened(acme)
    yield "retrieve", lambda: acme.get(f"{SESSIONS}/{made['id']}")
    yield "list", lambda: acme.get(f"{SESSIONS}?limit=2")
    yield "list of a status", lambda: acme.get(f"{SESSIONS}?status=complete&limit=2")
    of_payment = f"{SESSIONS}?payment_intent={made['payment_intent']}"
    yield "list of a payment", lambda: acme.get(of_payment)
    yield "page", lambda: payer.open(made["url"])
    yield "press", lambda: payer.press(form)
    yield "page of what is paid", lambda: payer.open(made["url"])
    yield "sessions that are due", tasks.expire_due
    yield "held cards that are due", held_cards.destroy_due


def read(acme: ApiClient) -> dict[str, list[int]]:
    return {name: buffers.of_questions(work).buffers for name, work in works(acme)}


def test_very_many_sessions_change_nothing(acme: ApiClient, bank: BankTransport) -> None:
    read(acme)  # The first requests ask what the process then remembers.
    few = read(acme)
    with past_guards("default") as cursor:
        of = {"merchant": acme.merchant.id, "rows": ROWS, "payments": PAYMENTS}
        cursor.execute(FILL_PAYMENTS, of)
        cursor.execute(FILL, of)
    vacuum("checkout_checkoutsession, intents_paymentintent")

    many = read(acme)

    for name, before in few.items():
        print(f"{name}: {len(before)} questions, {sum(before)} buffers, {sum(many[name])} of many")  # noqa: T201
        assert len(many[name]) == len(before) > 0, name
        assert max(many[name]) <= max(before) + DEEPER_MAX, (name, before, many[name])
    tried(CheckoutSession.objects.count(), "sessions")
