"""Statements of `RunSQL` that would stop an installation that runs, found by patterns.

A statement that builds another one is not understood: it is for the reviewer, as the body of a
function is.
"""

import re
from collections.abc import Iterator
from typing import Any

from django.db.migrations import Migration

from core.release import SINCE

NAME_IT = (
    "the last release reads it: take it away one release after the code that needs it, in a "
    "migration named …_since_MAJOR_MINOR for the oldest release that does without"
)
CONCURRENTLY = "locks the table against writes while its rows are read: use {}, atomic = False"
NOT_VALID = (
    "reads all rows under a lock: use AddConstraintNotValid, and ValidateConstraint in a migration "
    "of its own"
)
REWRITES = "rewrites the table under an exclusive lock: add a column, fill it, and change over"
ATOMIC = "cannot run inside a transaction: set atomic = False"
FOR_LONG = "holds an exclusive lock for as long as it lasts"
IN_CHUNKS = "locks every row that it changes: do it in chunks, by a command"
KEYS = "CONSTRAINT|CHECK|FOREIGN KEY|UNIQUE|PRIMARY KEY|EXCLUDE"
# PostgreSQL lets COLUMN be left out.
ADD_COLUMN = rf"\bADD (COLUMN )?(?!({KEYS}|COLUMN)\b)"
DROP_COLUMN = r"DROP (?!(CONSTRAINT|NOT NULL|EXPRESSION|IDENTITY)\b)"
VOLATILE = r"(gen_random_uuid|uuid_generate_v4|random|clock_timestamp|nextval)\s*\("
# A statement, and what is wrong with it.
RULES: tuple[tuple[str, str], ...] = (
    (r"CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)", CONCURRENTLY.format("CREATE INDEX CONCURRENTLY")),
    (r"DROP INDEX (?!CONCURRENTLY)", CONCURRENTLY.format("DROP INDEX CONCURRENTLY")),
    (r"^REINDEX (?!.*CONCURRENTLY)", CONCURRENTLY.format("REINDEX … CONCURRENTLY")),
    (rf"\bADD ({KEYS})\b(?!.*(NOT VALID|USING INDEX))", NOT_VALID),
    (rf"{ADD_COLUMN}[^,]*\b(UNIQUE|PRIMARY KEY|CHECK)\b", NOT_VALID),
    (r"\bALTER (COLUMN )?(?!COLUMN )\S+ (SET DATA )?TYPE\b", REWRITES),
    (r"\bSET NOT NULL\b", NOT_VALID),
    (rf"{ADD_COLUMN}(?=.*\bNOT NULL\b)(?!.*\bDEFAULT\b)", REWRITES),
    (rf"{ADD_COLUMN}.*\bDEFAULT\b.*{VOLATILE}", REWRITES),
    (rf"{ADD_COLUMN}.*\b(STORED|IDENTITY|(small|big)?serial)\b", REWRITES),
    (r"\bSET (LOGGED|UNLOGGED|TABLESPACE|ACCESS METHOD)\b", REWRITES),
    (rf"^ALTER TABLE .*\b({DROP_COLUMN}|RENAME (?!CONSTRAINT\b))|^DROP TABLE\b", NAME_IT),
    (r"^(CLUSTER|VACUUM FULL|TRUNCATE|LOCK)\b", FOR_LONG),
    (r"\b(ATTACH PARTITION|DETACH PARTITION(?!.*CONCURRENTLY))", FOR_LONG),
    (r"(^|\) )(UPDATE|DELETE)\b", IN_CHUNKS),
)
# Of these no table is named, or none that can be found.
ANYWHERE: tuple[tuple[str, str], ...] = (
    (r"^DROP (FUNCTION|PROCEDURE|VIEW|MATERIALIZED VIEW|TYPE|SEQUENCE|DOMAIN)\b", NAME_IT),
    (r"^DO\b", "is not read, and may do anything: write its statements as they are"),
)
TABLE = re.compile(
    r"\b(?:TABLE|ON|UPDATE|FROM|TRUNCATE|CLUSTER|LOCK|FULL|JOIN)"
    r"(?: TABLE)?(?: IF EXISTS)?(?: ONLY)? "
    r'(?:"?[a-z][a-z0-9_]*"?\.)?"?([a-z][a-z0-9_]*)"?',
    re.IGNORECASE,
)


def faults(sql: Any, migration: Migration, in_use: set[str]) -> Iterator[str]:
    """Yield what is wrong with the statements of a `RunSQL`, on tables in use."""
    for statement in _statements(sql):
        rules = RULES if in_use.intersection(_tables(statement)) else ()
        for pattern, fault in (*rules, *(ANYWHERE if in_use else ())):
            is_late = fault is NAME_IT and SINCE.search(migration.name)
            if re.search(pattern, statement, re.IGNORECASE) and not is_late:
                yield f"{statement[:60]}: {fault}"
        if in_use and migration.atomic and re.search(r"\bCONCURRENTLY\b", statement, re.IGNORECASE):
            yield f"{statement[:60]}: {ATOMIC}"


def _tables(statement: str) -> set[str]:
    return {name.lower() for name in TABLE.findall(statement)}


def _statements(sql: Any) -> Iterator[str]:
    """Yield the statements of SQL, each on one line, without the bodies of functions."""
    texts = (
        [sql] if isinstance(sql, str) else [one if isinstance(one, str) else one[0] for one in sql]
    )
    for text in texts:
        plain = re.sub(r"\$(\w*)\$.*?\$\1\$", "''", text, flags=re.DOTALL)
        plain = re.sub(r"--[^\n]*|/\*.*?\*/", "", plain, flags=re.DOTALL)
        for statement in plain.split(";"):
            if one_line := " ".join(statement.split()):
                yield one_line
