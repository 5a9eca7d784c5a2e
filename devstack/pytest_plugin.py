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

from devstack import environment, storage
from devstack.servers import Servers
from devstack.state import Refused, sweep


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    # A wrapper, because pytest-django reads the settings in this same hook, as its first:
    # from a conftest the servers would come too late.
    sweep()
    servers = Servers.throw_away()
    secrets_directory = Path(tempfile.mkdtemp(prefix="devstack-secrets-"))
    early_config.add_cleanup(lambda: shutil.rmtree(secrets_directory))
    # Before the start, so that a half-done start is cleaned up as well.
    early_config.add_cleanup(servers.stop)
    try:
        pooled = _pooled(early_config, servers)
        given = os.environ | {f"TEST_{name}": value for name, value in pooled.items()}
        places = (
            environment.NOWHERE
            if _only_hands_out_work(early_config)
            else storage.open_storage(servers, given, prefix="TEST_")
        )
    except Refused as refusal:
        raise pytest.UsageError(str(refusal)) from refusal
    os.environ.update(pooled | environment.throw_away(places, secrets_directory))
    return (yield)


def pytest_collection_finish() -> None:
    # What is imported and collected stays to the end: the garbage collector need not look at it
    # again and again, which was a tenth of a worker's time.
    gc.collect()
    gc.freeze()


def _pooled(early_config: pytest.Config, servers: Servers) -> dict[str, str]:
    """Start the servers behind a pooler if the tests of that mark are asked for."""
    marks = getattr(early_config.known_args_namespace, "markexpr", "")
    if marks != "pooler" or _only_hands_out_work(early_config):
        return {}
    return servers.start_behind_pooler()


def _only_hands_out_work(early_config: pytest.Config) -> bool:
    """Tell whether worker processes will run the tests, each on servers of its own."""
    has_workers = getattr(early_config.known_args_namespace, "numprocesses", None)
    return bool(has_workers) and "PYTEST_XDIST_WORKER" not in os.environ
