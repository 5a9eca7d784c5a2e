r"""One payment's writes as a script that pgbench can repeat.

The statements are the service's own, as they were logged; what only reads is left out,
and transactions keep their bounds. Three things differ from payment to payment:

- ids and the idempotency key: those that another payment does not have. Their last 13
  characters become the script's number `:n`, so they stay as long and as local as ours;
- numbers that the database gave out (`RETURNING id`): asked of their sequence, found because
  every sequence was set to a number that nothing else has;
- instants and sealed bytes stay as they were: nothing is unique in them.
"""

import re

import psycopg
from psycopg import sql

from bench.in_bulk import BECOME_OWNER
from bench.sql_log import SqlCommand

WRITE = re.compile(r"(INSERT|UPDATE|DELETE|MERGE|WITH\b.*\b(INSERT|UPDATE|DELETE))\b", re.I | re.S)
# A setting of the transaction's own that makes its commit cheaper is part of its cost.
COMMIT_SETTING = re.compile(r"(SET|SELECT)\b.*\bsynchronous_commit\b", re.I | re.S)
# Ours, and the references that banks know.
ID = re.compile(r"\b(?:[a-z]+_[0-9A-Za-z]{20,}|[0-9A-Z]{20})\b")
GIVEN_OUT = re.compile(r"\b[0-9]{10}\b")
FIRST_MARK = 1_000_000_000
MARKS_APART = 10_000_000
SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1"
# Ten digits: two for the client, eight that pgbench counts up from what it is given as `i`.
NUMBER = "\\set i :i + 1\n\\set n (:client_id + 10) * 100000000 + :i\n"
LAST_CHARACTERS = 13

Transaction = list[str]
Marks = dict[str, int]


def mark_sequences(url: str) -> Marks:
    """Set each sequence to a number of its own; return them by the sequence's name."""
    with psycopg.connect(url) as connection:
        connection.execute(BECOME_OWNER)
        names = [name for (name,) in connection.execute(SEQUENCES)]
        marks = {name: FIRST_MARK + n * MARKS_APART for n, name in enumerate(names)}
        for name, mark in marks.items():
            connection.execute("SELECT setval(%s, %s)", [sql.Identifier(name).as_string(), mark])
    return marks


def transactions(commands: list[SqlCommand]) -> list[Transaction]:
    """Return what was written, grouped as it was committed."""
    committed: list[Transaction] = []
    under_way: dict[str, Transaction] = {}
    for _, session, text in commands:
        word = text.split(maxsplit=1)[0].upper().rstrip(";")
        if word == "BEGIN":
            under_way[session] = []
        elif word == "COMMIT":
            committed.append(under_way.pop(session, []))
        elif word == "ROLLBACK" and " TO " not in text.upper():
            under_way.pop(session, None)
        elif session in under_way:
            under_way[session].append(text)
        else:
            committed.append([text])  # A transaction of its own.
    return [writes for texts in committed if (writes := _writes(texts))]


def script(writes: list[Transaction], *, other: list[Transaction], marks: Marks) -> str:
    """Return the pgbench script of one payment's writes.

    :param other: another payment's writes; the ids that both have are not the payment's own.
    """
    shared = set(ID.findall("\n".join(line for transaction in other for line in transaction)))
    lines = [line for transaction in writes for line in _as_block(transaction)]
    text = "\n".join(_asking_for_numbers(lines, marks))
    own = [found for found in dict.fromkeys(ID.findall(text)) if found not in shared]
    fresh = {id_: f"{id_[:-LAST_CHARACTERS]}{place:02}z:n" for place, id_ in enumerate(own)}
    return NUMBER + ID.sub(lambda id_: fresh.get(id_[0], id_[0]), text) + "\n"


def _writes(texts: list[str]) -> Transaction:
    kept = [text for text in texts if WRITE.match(text) or COMMIT_SETTING.match(text)]
    return kept if any(WRITE.match(text) for text in kept) else []


def _as_block(writes: Transaction) -> list[str]:
    lines = [f"{line.rstrip().rstrip(';')};" for line in writes]
    return ["BEGIN;", *lines, "COMMIT;"] if len(lines) > 1 else lines


def _asking_for_numbers(lines: list[str], marks: Marks) -> list[str]:
    """Put a variable in the place of each number given out, asked for with the statement before.

    A variable and not `currval` itself, for the number may stand inside of a literal. With
    the statement before, for the service gets it by RETURNING, without a way of its own.
    """
    asking: list[str] = []
    names: dict[str, str] = {}
    for line in lines:
        for number in dict.fromkeys(GIVEN_OUT.findall(line)):
            sequence = _sequence_of(number, marks)
            if sequence and number not in names:
                names[number] = f"given_{len(names)}"
                before = asking.pop().removesuffix(";")
                asking.append(
                    f"{before} \\; SELECT currval('{sequence}') AS {names[number]} \\gset"
                )
        asking.append(GIVEN_OUT.sub(lambda n: f":{names[n[0]]}" if n[0] in names else n[0], line))
    return asking


def _sequence_of(number: str, marks: Marks) -> str | None:
    for name, mark in marks.items():
        if mark < int(number) < mark + MARKS_APART:
            return name
    return None
