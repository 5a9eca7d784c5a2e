"""The counts of the risk rules are read from their two indexes, however much a merchant sells."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from bench import buffers, in_bulk
from core import clock
from payments.charging import risk_gate
from payments.intents.models import Attempt
from payments.risk import rules
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import as_owner
from tests.stage.lengths import tried

TABLE = Attempt._meta.db_table
ATTEMPTS = 20_000
# Five counts, each of them a walk down its index, and the rows that it finds: 5 of a card.
MOST_BUFFERS = 40
# How a copy differs from the attempt that is there; `n` counts the copies.
OTHERS = {
    "id": "'att_copy' || lpad(n::text, 12, '0')",
    "acquirer_reference": "'C' || lpad(n::text, 19, '0')",
    "status": "'failed'",
    "closed_at": "created_at",
    "captured_minor": "0",
    "is_counted": "true",
    "card_fingerprint": "encode(sha256(('card' || n / 5)::bytea), 'hex')",
    "email_fingerprint": "encode(sha256(('mail' || n / 5)::bytea), 'hex')",
    "network_fingerprint": "encode(sha256(('network' || n / 5)::bytea), 'hex')",
    "is_declined": "true",
    "created_at": f"created_at - n * interval '1 day' / {ATTEMPTS}",
}
INDEXES = (
    "attempts_with_a_card", "attempts_with_an_email", "declined_attempts_of_a_network",
)  # fmt: skip


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_the_counts_of_the_rules_are_read_from_their_indexes(
    acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay()
    _fill()
    clock.advance(timedelta(minutes=1))

    read = _buffers_of_counts(acme.merchant.id)

    assert read <= MOST_BUFFERS
    tried(Attempt.objects.count(), "attempts behind the counts of a payment")
    # A planted fault: without one of their indexes a count reads the merchant's whole day.
    for index in [one for one in Attempt._meta.indexes if one.name in INDEXES]:
        with as_owner(), connection.schema_editor() as editor:
            editor.remove_index(Attempt, index)
        try:
            assert _buffers_of_counts(acme.merchant.id) > 2 * MOST_BUFFERS, index.name
        finally:
            with as_owner(), connection.schema_editor() as editor:
                editor.add_index(Attempt, index)


def _fill() -> None:
    names = [field.column for field in Attempt._meta.concrete_fields]
    made = ", ".join(OTHERS.get(name, name) for name in names)
    with connection.cursor() as cursor, in_bulk.filling(cursor, [TABLE]):
        cursor.execute(
            f"INSERT INTO {TABLE} ({', '.join(names)}) SELECT {made}"  # noqa: S608
            f" FROM {TABLE}, generate_series(1, {ATTEMPTS}) AS n"
        )


def _buffers_of_counts(merchant_id: str) -> int:
    """Return what the counts of the newest copy's payer read, of whom five are found."""
    newest = Attempt.objects.filter(id__startswith="att_copy").latest("created_at")
    values: dict[str, Any] = {
        "merchant": merchant_id,
        "cards": [newest.card_fingerprint],
        "emails": [newest.email_fingerprint],
        "networks": [newest.network_fingerprint],
    }
    for name in risk_gate.COUNTING:
        rule = rules.DEFAULTS[name]
        assert rule.window is not None
        values |= {name.value: rule.threshold, f"{name.value}_since": clock.now() - rule.window}
    (counts,), [read] = buffers.of_statements(lambda: _counted(values))
    assert counts[0] >= 1, counts
    assert counts[-1] >= 1, counts
    return read


def _counted(values: dict[str, Any]) -> list[tuple[int, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(risk_gate.COUNT, values)
        return cursor.fetchall()
