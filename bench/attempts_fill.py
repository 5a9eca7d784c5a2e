"""Filling the table of attempts with those of very many cards and payers, within a day."""

from typing import Any

from django.db import connection

from bench import (
    buffers,
    in_bulk,
    installation,  # noqa: F401
)
from payments.charging import risk_gate
from payments.risk import rules

TABLE = "intents_attempt"
MERCHANTS = 100
ATTEMPTS_OF_A_CARD = 5
# The columns that differ from those of the attempt that is copied; `n` counts the copies.
OTHERS = {
    "id": "'att_bench' || lpad(n::text, 12, '0')",
    "acquirer_reference": "'B' || lpad(n::text, 19, '0')",
    "merchant_id": (
        f"CASE WHEN n %% 2 = 0 THEN %(merchant)s ELSE 'mer_bench' || n %% {MERCHANTS} END"
    ),
    # No second successful attempt of one payment.
    "status": "'failed'",
    "closed_at": "created_at",
    "captured_minor": "0",
    "is_counted": "true",
    "is_declined": "n %% 20 = 0",
    "card_fingerprint": f"encode(sha256(('card' || n / {ATTEMPTS_OF_A_CARD})::bytea), 'hex')",
    "email_fingerprint": f"encode(sha256(('mail' || n / {ATTEMPTS_OF_A_CARD})::bytea), 'hex')",
    "created_at": "created_at - n * interval '1 day' / %(count)s",
}
# Of an hour, and of many merchants: one's newest are all declined, as where cards are tested.
MANY_MERCHANTS, TESTED = 10_000, 300
OF_AN_HOUR = {
    **OTHERS,
    "id": "'att_hour' || lpad(n::text, 12, '0')",
    "acquirer_reference": "'H' || lpad(n::text, 19, '0')",
    "merchant_id": (
        f"CASE WHEN n <= {TESTED} THEN %(merchant)s ELSE 'mer_hour' || n %% {MANY_MERCHANTS} END"
    ),
    "is_declined": f"n <= {TESTED} OR n %% 20 = 0",
    "card_fingerprint": "encode(sha256(('card' || n)::bytea), 'hex')",
    "created_at": "created_at - n * interval '1 hour' / %(count)s",
}
NEWEST = f"""
    SELECT card_fingerprint, email_fingerprint, created_at FROM {TABLE}
    WHERE merchant_id = %s AND id LIKE 'att_bench%%' ORDER BY created_at DESC LIMIT 1
"""  # noqa: S608


def fill(merchant_id: str, count: int) -> None:
    """Copy one attempt so many times, over the day before it: half of the copies are a merchant's.

    One attempt must be there. A card and its e-mail have five attempts, one in twenty is declined.
    """
    _copy(OTHERS, merchant_id, count)


def fill_hour(merchant_id: str, count: int) -> None:
    """Copy one attempt so many times, over the hour before it; at the merchant's cards are tested.

    One attempt must be there.
    """
    _copy(OF_AN_HOUR, merchant_id, count)


def _copy(changes: dict[str, str], merchant_id: str, count: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = %s", [TABLE]
        )
        columns = [name for (name,) in cursor.fetchall()]
        made = ", ".join(changes.get(name, name) for name in columns)
        with in_bulk.filling(cursor, [TABLE]):
            cursor.execute(
                f"INSERT INTO {TABLE} ({', '.join(columns)}) SELECT {made} FROM"  # noqa: S608
                f" (SELECT * FROM {TABLE} ORDER BY created_at DESC LIMIT 1) AS one,"
                " generate_series(1, %(count)s) AS n",
                {"merchant": merchant_id, "count": count},
            )


def buffers_of_counts(merchant_id: str) -> int:
    """Return how many buffers the rules' counts read for a payer of the merchant's newest copies.

    With the windows and thresholds that the rules have by default, as they were when the newest
    copies were made: to fill in all of them may take longer than a window.
    """
    with connection.cursor() as cursor:
        cursor.execute(NEWEST, [merchant_id])
        card, email, then = cursor.fetchone()
    values: dict[str, Any] = {"merchant": merchant_id, "card": card, "email": email}
    for name in (*risk_gate.BY_CARD, *risk_gate.BY_EMAIL):
        rule = rules.DEFAULTS[name]
        assert rule.window is not None
        values |= {name.value: rule.threshold, f"{name.value}_since": then - rule.window}
    (counts,), [read] = buffers.of_statements(lambda: _counted(values))
    if counts[0] < 1:
        raise ValueError(f"None of the newest copies is counted: {counts}.")
    return read


def _counted(values: dict[str, Any]) -> list[tuple[int, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(risk_gate.COUNT, values)
        return cursor.fetchall()
