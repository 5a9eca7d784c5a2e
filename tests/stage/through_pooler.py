"""PgBouncer between the tests and the database, in a run of `./dev test -m pooler`."""

from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections

from devstack import pooler

# Payments, races, lists, webhooks, and what works in the background.
MODULES = {
    f"test_{name}.py"
    for name in (
        "cancellations", "captures", "confirm", "customers_at_once", "delivery_races", "drain",
        "events", "idempotency", "list_walks", "lists", "payments", "races", "recovery", "replay",
        "resend", "retention", "search", "stopping", "three_d_secure", "endpoints",
        "answers", "non_secure_days", "non_secure_given_back", "authorizing_at_once",
        "database_role", "heartbeat", "peers",
    )
}  # fmt: skip
LONG = ("slow", "proof", "browser")


def has_none(file: Path, config: pytest.Config) -> bool:
    """Tell whether a run of the mark `pooler` has no test in a file, and need not read it."""
    is_of_tests = file.name.startswith("test_") and file.suffix == ".py"
    return config.option.markexpr == "pooler" and is_of_tests and file.name not in MODULES


def mark(items: list[pytest.Item]) -> None:
    """Give the modules' tests the mark `pooler`.

    Behind the pooler each of them commits: one transaction around all would keep one session, and
    prove nothing.
    """
    for item in items:
        if item.path.name in MODULES and not any(map(item.get_closest_marker, LONG)):
            item.add_marker(pytest.mark.pooler)
        if settings.BEHIND_POOLER and (database := item.get_closest_marker("django_db")):
            kwargs = {**database.kwargs, "transaction": True}
            item.add_marker(pytest.mark.django_db(**kwargs), append=False)


def require_traffic() -> None:
    """Fail unless every test database was written to and read through PgBouncer."""
    counts = {row["database"]: int(row["total_xact_count"]) for row in console("SHOW STATS")}
    for name in _names():
        assert counts.get(name, 0) > 0, f"nothing went to {name} through the pooler: {counts}"
    modes = {row["database"]: row["pool_mode"] for row in console("SHOW POOLS")}
    assert {modes[name] for name in _names()} == {"transaction"}
    print(f"through the pooler, in transactions: {counts}")  # noqa: T201


def hang_up() -> None:
    """End PgBouncer's sessions with the test databases."""
    connections.close_all()
    for name in _names():
        console(f"KILL {name}")


def console(command: str) -> list[dict[str, str]]:
    return pooler.console(Path(connections["default"].settings_dict["OPTIONS"]["host"]), command)


def _names() -> list[str]:
    return [connections[alias].settings_dict["NAME"] for alias in connections]
