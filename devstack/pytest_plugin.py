"""Throw-away servers for the tests (loaded by `-p` in pyproject.toml).

TEST_DATABASE_URL and TEST_REDIS_URL replace them. With `-m pooler` PgBouncer stands between the
tests and the database.
"""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import cluster, environment, storage
from devstack.servers import Servers
from devstack.state import CannotContinue, sweep

GARBAGE_OBJECTS = 20_000


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    # A wrapper, because pytest-django reads the settings in this same hook, as its first:
    # from a conftest the servers would come too late.
    sweep()
    secrets_directory = Path(tempfile.mkdtemp(prefix="devstack-secrets-"))
    early_config.add_cleanup(lambda: shutil.rmtree(secrets_directory))
    try:
        places, pooled = _opened(early_config)
    except CannotContinue as refusal:
        raise pytest.UsageError(str(refusal)) from refusal
    os.environ.update(pooled | environment.throw_away(places, secrets_directory))
    return (yield)


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    # Imported modules and collected tests stay to the end: the garbage collector need not look at
    # them again and again, which took a tenth of a worker's time.
    # Afterwards it looks less often than Python's 700 new objects ask for, which saves half of the
    # time that it still took.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, 10, 10)
    gc.enable()


def _opened(early_config: pytest.Config) -> tuple[storage.Storage, dict[str, str]]:
    """Start the servers that are not given; return where they are, and what a pooler needs."""
    is_given = bool(os.environ.get("TEST_DATABASE_URL"))
    if _only_hands_out_work(early_config):
        if not is_given:
            cluster.kept()  # Made once, here, and not by the first worker while the others wait.
        return environment.NOWHERE, {}
    servers = Servers.throw_away() if is_given else cluster.throw_away()
    # Before the start, so that a half-done start is cleaned up as well.
    early_config.add_cleanup(servers.stop)
    pooled = _pooled(early_config, servers)
    given = os.environ | {f"TEST_{name}": value for name, value in pooled.items()}
    return storage.open_storage(servers, given, prefix="TEST_"), pooled


def _pooled(early_config: pytest.Config, servers: Servers) -> dict[str, str]:
    """Start the servers behind a pooler if the tests of that mark are asked for."""
    marks = getattr(early_config.known_args_namespace, "markexpr", "")
    return servers.start_behind_pooler() if marks == "pooler" else {}


def _only_hands_out_work(early_config: pytest.Config) -> bool:
    """Return whether worker processes will run the tests, each on servers of its own."""
    has_workers = getattr(early_config.known_args_namespace, "numprocesses", None)
    return bool(has_workers) and "PYTEST_XDIST_WORKER" not in os.environ
