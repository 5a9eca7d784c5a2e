"""The old bank's book: every transaction of every order, in one file that outlives a `kill -9`."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

TABLES = """
CREATE TABLE IF NOT EXISTS transactions (
    number INTEGER PRIMARY KEY, terminal TEXT, order_id TEXT, merchant TEXT, kind TEXT, state TEXT,
    amount INTEGER CHECK (amount >= 1), currency TEXT, behaviour TEXT, code TEXT,
    auth_code TEXT, host_ref TEXT, trans_id TEXT UNIQUE, at REAL, refund_id TEXT
);
CREATE INDEX IF NOT EXISTS by_order ON transactions (terminal, order_id);
CREATE TABLE IF NOT EXISTS authentications (md TEXT PRIMARY KEY, facts TEXT);
CREATE TABLE IF NOT EXISTS clock (offset_seconds REAL);
"""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One thing that the bank has done, or has refused to do, to an order.

    :param kind: S sale, P pre-authorisation, C capture, V void, R refund, L lapse.
    :param state: A approved, D declined, W waiting for the bank's word, T not before its time.
    :param amount: in minor units.
    :param behaviour: the card's behaviour by its name in `testbank.behaviours`; never a number.
    :param refund_id: the shop's name for a refund, which is no key: it may come twice.
    """

    terminal: str
    order_id: str
    merchant: str
    kind: str
    state: str
    amount: int
    currency: str
    behaviour: str
    code: str
    auth_code: str
    host_ref: str
    trans_id: str
    at: float
    refund_id: str = ""


NAMES = tuple(field.name for field in fields(Transaction))


class Book:
    """The file, shared by the threads of one process."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # A process that is killed has handed its writes to the system already.
        self._file.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" + TABLES)

    def now(self) -> float:
        """Return the bank's time, which the tests may move."""
        with self._lock:
            moved = self._file.execute("SELECT offset_seconds FROM clock").fetchone()
        return time.time() + (moved[0] if moved else 0.0)

    def move_clock(self, offset_seconds: float) -> None:
        with self.changing():
            self._file.execute("DELETE FROM clock")
            self._file.execute("INSERT INTO clock VALUES (?)", [offset_seconds])

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep the other threads away, and write all or nothing."""
        with self._lock, self._file:
            self._file.execute("BEGIN IMMEDIATE")
            yield

    def write(self, transaction: Transaction) -> None:
        names, marks = ", ".join(NAMES), ", ".join("?" * len(NAMES))
        values = [getattr(transaction, name) for name in NAMES]
        with self._lock:
            self._file.execute(f"INSERT INTO transactions ({names}) VALUES ({marks})", values)  # noqa: S608

    def decide(self, waiting: Transaction, **changes: Any) -> Transaction:
        """Write the bank's word on a transaction that waited for it."""
        decided = replace(waiting, **changes)
        with self._lock:
            self._file.execute(
                "UPDATE transactions SET state = ?, code = ?, auth_code = ? WHERE trans_id = ?",
                [decided.state, decided.code, decided.auth_code, decided.trans_id],
            )
        return decided

    def of(self, terminal: str, order_id: str) -> list[Transaction]:
        """Return what was done to an order at a terminal, the oldest first."""
        return self._rows("WHERE terminal = ? AND order_id = ?", terminal, order_id)

    def places(self) -> list[tuple[str, str]]:
        """Return terminal and id of every order, the oldest first."""
        with self._lock:
            found = self._file.execute(
                "SELECT terminal, order_id FROM transactions GROUP BY 1, 2 ORDER BY min(number)"
            )
            return list(found)

    def make_older(self, order_id: str, seconds: float) -> None:
        """Move an order's transactions into the past."""
        with self._lock:
            self._file.execute(
                "UPDATE transactions SET at = at - ? WHERE order_id = ?", [seconds, order_id]
            )

    def keep(self, md: str, facts: dict[str, Any]) -> None:
        """Write an authentication, or what has become of it."""
        with self._lock:
            row = [md, json.dumps(facts)]
            self._file.execute("INSERT OR REPLACE INTO authentications VALUES (?, ?)", row)

    def kept(self, md: str) -> dict[str, Any] | None:
        with self._lock:
            found = self._file.execute(
                "SELECT facts FROM authentications WHERE md = ?", [md]
            ).fetchone()
        return json.loads(found[0]) if found else None

    def remember(self) -> None:
        """Keep a copy of the book as it is now, for `go_back`."""
        with self._lock:
            self._copy = sqlite3.connect(":memory:", check_same_thread=False)
            self._file.backup(self._copy)

    def go_back(self) -> None:
        """Let the book be what it was when it was remembered."""
        with self._lock:
            self._copy.backup(self._file)

    def empty(self) -> None:
        with self._lock:
            self._file.executescript(
                "DELETE FROM transactions; DELETE FROM authentications; DELETE FROM clock;"
            )

    def _rows(self, condition: str, *values: str) -> list[Transaction]:
        query = f"SELECT {', '.join(NAMES)} FROM transactions {condition} ORDER BY number"  # noqa: S608
        with self._lock:
            return [Transaction(*row) for row in self._file.execute(query, values)]
