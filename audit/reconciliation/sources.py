"""Our books as a bank would write them down: for each type of line, the rows that it is made of.

Each is a query of `reference, merchant, currency, amount, at, object, is_doubtful, terminal`. `at`
is the moment at which we booked it; what is in doubt has no line to expect, and is no difference
either. `terminal` is null for transfers, which go by none.
`{refs}` is a condition on the reference, `{at}` one on the moment: exactly one of them is filled
in, so that a lookup goes by an index and a search of a day leaves the rest out.
"""

from typing import NamedTuple


class Query(NamedTuple):
    """One query of a source.

    :param reference: the column that a line's reference is compared with.
    :param at: the column of the moment; None where nothing is booked yet.
    """

    sql: str
    reference: str
    at: str | None = None


class Source(NamedTuple):
    """The queries of one type of line."""

    type: str
    queries: tuple[Query, ...]

    def of(self, reference: str) -> str:
        """Return the query of the rows with a reference, which is a column or a placeholder."""
        return " UNION ALL ".join(
            query.sql.format(where=f"{query.reference} = {reference}") for query in self.queries
        )

    def booked_between(self, begin: str, end: str) -> str:
        """Return the query of the rows that were booked from one moment to before another."""
        return " UNION ALL ".join(
            query.sql.format(where=f"{query.at} >= {begin} AND {query.at} < {end}")
            for query in self.queries
            if query.at
        )


# The bank charged an attempt that was closed here, and its money goes back whole.
LATE = """
    FROM intents_modification m
    JOIN intents_attempt t ON (t.merchant_id, t.id) = (m.merchant_id, m.attempt_id)
    WHERE m.kind = 'reverse' AND m.status IN ('processing', 'succeeded')
      AND t.capture_method = 'automatic' AND {where}
"""
LATE_SALE = f"""
    SELECT t.acquirer_reference AS reference, t.merchant_id AS merchant, t.currency AS currency,
           t.amount + t.surcharge AS amount, m.created_at AS at, t.id AS object,
           m.status = 'processing' AS is_doubtful, t.terminal_id AS terminal
    {LATE}
"""  # noqa: S608
LATE_VOID = f"""
    SELECT t.acquirer_reference, t.merchant_id, t.currency, t.amount + t.surcharge, m.closed_at,
           t.id, m.status = 'processing', t.terminal_id
    {LATE} AND m.refund_reference IS NULL AND m.dispute_reference IS NULL
"""  # noqa: S608
LATE_REFUND = f"""
    SELECT m.refund_reference, t.merchant_id, t.currency, t.amount + t.surcharge, m.closed_at,
           t.id, m.status = 'processing', t.terminal_id
    {LATE} AND m.refund_reference IS NOT NULL AND m.dispute_reference IS NULL
"""  # noqa: S608
LATE_CHARGEBACK = f"""
    SELECT m.dispute_reference, t.merchant_id, t.currency, t.amount + t.surcharge, m.closed_at,
           t.id, m.status = 'processing', t.terminal_id
    {LATE} AND m.dispute_reference IS NOT NULL
"""  # noqa: S608
SALE = """
    SELECT t.acquirer_reference AS reference, t.merchant_id AS merchant, t.currency AS currency,
           t.captured_minor AS amount, t.captured_at AS at, t.id AS object, false AS is_doubtful,
           t.terminal_id AS terminal
    FROM intents_attempt t WHERE t.status = 'succeeded' AND {where}
"""
SALE_IN_DOUBT = """
    SELECT t.acquirer_reference, t.merchant_id, t.currency, t.amount + t.surcharge,
           NULL::timestamptz, t.id, true, t.terminal_id
    FROM intents_attempt t
    WHERE {where} AND t.status <> 'succeeded'
      AND (t.status IN ('processing', 'requires_action') OR EXISTS (
          SELECT FROM intents_modification m
          WHERE m.attempt_id = t.id AND m.status = 'processing' AND m.kind <> 'reverse'
      ))
"""
VOID = """
    SELECT t.acquirer_reference AS reference, r.merchant_id AS merchant, r.currency AS currency,
           r.amount AS amount, r.closed_at AS at, r.id AS object,
           r.status = 'pending' AS is_doubtful, t.terminal_id AS terminal
    FROM refunds_refund r
    JOIN intents_attempt t ON (t.merchant_id, t.id) = (r.merchant_id, r.attempt_id)
    WHERE r.method = 'void' AND r.status IN ('pending', 'succeeded') AND {where}
"""
OF_ATTEMPT = """(
        SELECT t.terminal_id FROM intents_attempt t
        WHERE (t.merchant_id, t.id) = (o.merchant_id, o.attempt_id)
    )"""
OF_NONE = """NULL::varchar COLLATE "C" """
# The movement stays where the object goes on: a refund that came back was paid before.
OF_A_MOVEMENT = """
    SELECT o.{column} AS reference, o.merchant_id AS merchant, o.currency AS currency,
           o.amount AS amount, v.created_at AS at, o.id AS object, {doubtful} AS is_doubtful,
           {terminal} AS terminal
    FROM {table} o
    JOIN ledger_movement v
        ON (v.merchant_id, v.kind, v.cause_id) = (o.merchant_id, '{moved}', o.id)
    WHERE {only} AND {{where}}
"""
# Rows that are under way in our book, and notices that no handler has applied.
IN_DOUBT = """
    SELECT o.{column}, o.merchant_id, o.currency, o.amount, NULL::timestamptz, o.id, true,
           {terminal}
    FROM {table} o
    WHERE ({doubt}) AND {{where}} AND NOT EXISTS (
        SELECT FROM ledger_movement v
        WHERE (v.merchant_id, v.kind, v.cause_id) = (o.merchant_id, '{moved}', o.id)
    )
"""
# Money that left and came back before we asked: here it failed, and the bank has it out and back.
# Each of the two lines agrees beside the other one alone, so that readings keep both.
OUT_AND_BACK = """
    SELECT o.{column}, o.merchant_id, o.currency, o.amount, NULL::timestamptz, o.id, false,
           {terminal}
    FROM {table} o
    WHERE o.status = 'failed' AND {{where}} AND NOT EXISTS (
        SELECT FROM ledger_movement v
        WHERE (v.merchant_id, v.kind, v.cause_id) = (o.merchant_id, '{moved}', o.id)
    ) AND EXISTS (
        SELECT FROM reconciled_line b
        WHERE (b.type, b.reference) = ('{other}', o.{column}) AND b.amount = o.amount
    )
"""
TOLD_OF_REFUND = """EXISTS (
    SELECT FROM notices_notice n
    WHERE n.applied_at IS NULL AND n.refund_reference = o.acquirer_reference
)"""
TOLD_OF_DISPUTE = """EXISTS (
    SELECT FROM notices_notice n WHERE n.applied_at IS NULL AND n.dispute = o.bank_reference
)"""
TOLD_OF_TRANSFER = """EXISTS (
    SELECT FROM transfers_transfernotice n
    WHERE n.applied_at IS NULL AND n.reference = o.acquirer_reference
)"""
# By the bank's own reference; a transfer that matches no topup has no merchant.
TRANSFER_IN = """
    SELECT i.reference AS reference, i.merchant_id AS merchant, i.currency AS currency,
           i.amount AS amount, i.arrived_at AS at, 'transfer ' || i.reference AS object,
           false AS is_doubtful, NULL::varchar COLLATE "C" AS terminal
    FROM topups_incomingtransfer i WHERE {where}
"""
TRANSFER_IN_RETURN = """
    SELECT i.reference AS reference, i.merchant_id AS merchant, i.currency AS currency,
           i.amount AS amount, v.created_at AS at, 'transfer ' || i.reference AS object,
           false AS is_doubtful, NULL::varchar COLLATE "C" AS terminal
    FROM topups_incomingtransfer i
    LEFT JOIN ledger_movement v
        ON (v.merchant_id, v.kind, v.cause_id) = (i.merchant_id, 'topup_reversed', i.topup_id)
    WHERE i.status = 'reversed' AND {where}
"""
TOLD_AND_NOT_APPLIED = """
    SELECT n.reference, NULL::varchar, n.currency, n.amount, NULL::timestamptz,
           'transfer ' || n.reference, true, NULL::varchar COLLATE "C"
    FROM transfers_transfernotice n WHERE n.applied_at IS NULL AND {where}
"""
# A dispute that is lost here, and the bank has not acknowledged that it was given up.
BEING_ACCEPTED = """EXISTS (
    SELECT FROM disputes_disputedelivery y
    WHERE (y.merchant_id, y.dispute_id) = (o.merchant_id, o.id) AND y.status = 'owed'
      AND y.kind <> 'evidence'
)"""
# A dispute that the bank has won for its merchant and never lost, as its own notices tell, and that
# was lost here before we heard of it: the money never left the bank, which has no line of it. Not
# one that was lost here after it was won.
LOST_HERE_ALONE = """coalesce((
    SELECT bool_or(n.kind = 'dispute_won') AND NOT bool_or(n.kind = 'dispute_lost')
           AND NOT EXISTS (
               SELECT FROM ledger_movement l JOIN ledger_movement w ON w.id = l.follows_id
               WHERE (l.merchant_id, l.kind, l.cause_id) = (o.merchant_id, 'dispute_lost', o.id)
                 AND w.kind = 'dispute_won'
           )
    FROM intents_attempt t JOIN notices_notice n ON n.reference = t.acquirer_reference
    WHERE (t.merchant_id, t.id) = (o.merchant_id, o.attempt_id) AND n.dispute = o.bank_reference
), false)"""


class Moved(NamedTuple):
    """One type of booking behind a movement of the ledger.

    :param terminal: the terminal by which the object goes.
    :param doubt: the condition under which there is none yet, and one may come.
    :param only: the condition on the object that the movement is about.
    :param doubtful: the condition under which the bank may not have booked it yet.
    :param ours_alone: the condition under which the bank need not have it: a line of it agrees,
        and none is missing.
    """

    table: str
    column: str
    terminal: str
    movement: str
    doubt: str
    only: str = "true"
    doubtful: str = "false"
    ours_alone: str = "false"

    def queries(self) -> tuple[Query, ...]:
        reference, moved_at = f"o.{self.column}", "v.created_at"

        def booked(only: str) -> str:
            only = f"{self.only} AND {only}"
            return OF_A_MOVEMENT.format(**self._names(), only=only, doubtful=self.doubtful)

        return (
            Query(booked(f"NOT {self.ours_alone}"), reference, moved_at),
            Query(booked(self.ours_alone), reference),
            Query(IN_DOUBT.format(**self._names(), doubt=self.doubt), reference),
        )

    def beside(self, other: str) -> Query:
        """Return the query of what went out and came back unseen, by the other line of the two."""
        sql = OUT_AND_BACK.format(**self._names(), other=other)
        return Query(sql, f"o.{self.column}")

    def _names(self) -> dict[str, str]:
        return {
            "table": self.table,
            "column": self.column,
            "terminal": self.terminal,
            "moved": self.movement,
        }


REFUND = ("refunds_refund", "acquirer_reference", OF_ATTEMPT)
DISPUTE = ("disputes_dispute", "bank_reference", OF_ATTEMPT)
PAYOUT = ("payouts_payout", "acquirer_reference", OF_NONE)
PAID_BACK = Moved(*REFUND, "refund_paid", "o.status = 'pending'", only="o.method = 'refund'")
CHARGED_BACK = Moved(
    *DISPUTE,
    "dispute_lost",
    f"o.closed_at IS NULL OR {TOLD_OF_DISPUTE}",
    doubtful=BEING_ACCEPTED,
    ours_alone=LOST_HERE_ALONE,
)
REGAINED = Moved(*DISPUTE, "dispute_regained", TOLD_OF_DISPUTE, ours_alone=LOST_HERE_ALONE)
BOUNCED = Moved(*REFUND, "refund_bounced", TOLD_OF_REFUND)
PAID_OUT = Moved(*PAYOUT, "payout_paid", f"o.status = 'in_transit' OR {TOLD_OF_TRANSFER}")
RETURNED = Moved(*PAYOUT, "payout_bounced", TOLD_OF_TRANSFER)

OF_ORDER = "t.acquirer_reference"
SOURCES = (
    Source("sale", (
        Query(SALE, OF_ORDER, "t.captured_at"),
        Query(LATE_SALE, OF_ORDER, "m.created_at"),
        Query(SALE_IN_DOUBT, OF_ORDER),
    )),
    Source("void", (
        Query(VOID, OF_ORDER, "r.closed_at"),
        Query(LATE_VOID, OF_ORDER, "m.closed_at"),
    )),
    Source("refund", (
        *PAID_BACK.queries(), PAID_BACK.beside("refund_return"),
        Query(LATE_REFUND, "m.refund_reference", "m.closed_at"),
    )),
    Source("refund_return", (*BOUNCED.queries(), BOUNCED.beside("refund"))),
    Source("chargeback", (
        *CHARGED_BACK.queries(), Query(LATE_CHARGEBACK, "m.dispute_reference", "m.closed_at"),
    )),
    Source("chargeback_return", REGAINED.queries()),
    Source("transfer_out", (*PAID_OUT.queries(), PAID_OUT.beside("transfer_return"))),
    Source("transfer_return", (*RETURNED.queries(), RETURNED.beside("transfer_out"))),
    Source("transfer_in", (
        Query(TRANSFER_IN, "i.reference", "i.arrived_at"),
        Query(TOLD_AND_NOT_APPLIED, "n.reference"),
    )),
    Source("transfer_in_return", (
        Query(TRANSFER_IN_RETURN, "i.reference", "v.created_at"),
        Query(TOLD_AND_NOT_APPLIED, "n.reference"),
    )),
)  # fmt: skip
