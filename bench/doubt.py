"""The measurement of doubt: how soon a silent authorisation is asked about beside silent voids.

Ten thousand reversals are due at once, and the bank answers none of them. A payment whose bank has
not answered must be asked about nevertheless, within the slots of its own kind.
"""

import time
from collections.abc import Sequence

import psycopg

from bench import bars
from bench.bars import Bar, Figures
from bench.client import Call, Line
from bench.load import Terms
from bench.payments import PATH
from bench.stage import Stage
from devstack import demo
from devstack.console import say
from devstack.state import CannotContinue

BANK = "bench.silent_bank_process"
MANY = 10_000
SILENT_CARD = "4000001100000017"
PATIENCE_SECONDS, LOOK_EVERY_SECONDS = 60, 0.1
PARTS = ["authorisation"]
BARS = [
    Bar("silent reversals due at once", "due", least=MANY),
    Bar("  asked about before the payment", "asked_before"),
    Bar("a silent payment is asked about, s late", "asked_after_seconds", most=5),
]

# One attempt that charged nothing, copied; and a reversal of each copy, due for a day.
COPIES = """
    INSERT INTO intents_attempt
    SELECT (jsonb_populate_record(a, jsonb_build_object(
        'id', 'att_bench' || n, 'acquirer_reference', lpad(n::text, 20, 'B')))).*
    FROM intents_attempt a, generate_series(1, %s) n
    WHERE a.id = (SELECT id FROM intents_attempt WHERE status = 'failed' LIMIT 1)
"""
REVERSALS = """
    INSERT INTO intents_modification (
        id, merchant_id, attempt_id, kind, status, request_id, created_at, asked_at, due_at,
        inquiry_count, no_record_count)
    SELECT 'mod_' || id, merchant_id, id, 'reverse', 'processing', 'req_bench', created_at,
        created_at, created_at - interval '1 day', 0, 0
    FROM intents_attempt WHERE id LIKE 'att_bench%'
"""
DUE = "SELECT count(*) FROM intents_modification WHERE status = 'processing'"
ASKED = "SELECT count(*) FROM intents_modification WHERE inquiry_count > 0"
# In unix time: when the payment's first inquiry is due, and when it was made.
FIRST_DUE = """
    SELECT extract(epoch FROM due_at)::float8 FROM intents_attempt
    WHERE status = 'processing' AND inquiry_count = 0
"""
FIRST_INQUIRY = """
    SELECT extract(epoch FROM sent_at)::float8 FROM acquirers_bankexchange
    WHERE operation = 'authorization_inquiry' ORDER BY id LIMIT 1
"""


def measure(stage: Stage, terms: Terms, parts: Sequence[str] = PARTS) -> Figures:
    """Let many reversals be due at a silent bank, then pay with a card whose bank is silent.

    :raises CannotContinue: a process failed, or the payment was never asked about.
    """
    del terms, parts
    merchant = stage.open_merchant()
    with stage.service(bank=BANK):
        _pay(stage, merchant["secret_key"], "4000000000000002")
        due = _fill(stage)
        say("bench", f"{due} reversals are due at a bank that does not answer")
        with stage.program("sweeper", ["bench.sweeping"]):
            _await(stage, ASKED, "the sweeper asks nobody")
            _pay(stage, merchant["secret_key"], SILENT_CARD)
            due_at = _await(stage, FIRST_DUE, "the payment is not processing")
            asked_before = _await(stage, ASKED, "the sweeper asks nobody")
            asked_at = _await(stage, FIRST_INQUIRY, "the payment is not asked about")
    return {"due": due, "asked_before": asked_before, "asked_after_seconds": asked_at - due_at}


def table(figures: Figures) -> str:
    return bars.table(BARS, figures, last="A bank that answers authorisations, and nothing else.")


def _pay(stage: Stage, secret_key: str, number: str) -> None:
    body = demo.first_payment()
    body["payment_method_data"]["card"]["number"] = number
    line = Line(stage.ports.web)
    try:
        status, _content = line.ask(Call(stage.ports.web, PATH, {}, secret_key, body).request())
    finally:
        line.close()
    if status != 200:
        raise CannotContinue(f"A payment was answered {status}.")


def _fill(stage: Stage) -> int:
    with psycopg.connect(stage.databases["web"]) as connection:
        connection.execute(COPIES, [MANY])
        connection.execute(REVERSALS)
        [due] = connection.execute(DUE).fetchone() or [0]
    return int(due)


def _await(stage: Stage, query: str, otherwise: str) -> float:
    """Wait until the query has a figure above nothing, and return it."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    with psycopg.connect(stage.databases["web"], autocommit=True) as connection:
        while time.monotonic() < ends_at:
            row = connection.execute(query).fetchone()
            if row and row[0]:
                return float(row[0])
            time.sleep(LOOK_EVERY_SECONDS)
    raise CannotContinue(f"In {PATIENCE_SECONDS} s {otherwise}.")
