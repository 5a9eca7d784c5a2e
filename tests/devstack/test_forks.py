"""A forked worker leaves nothing behind, however it ends."""

from pathlib import Path

import pytest

from tests.stage.forks import Forks
from tests.stage.kills import SWEEPER, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]


@pytest.mark.parametrize("dies", [False, True], ids=["is stopped", "has died"])
def test_with_a_worker_all_that_it_has_started_ends(dies: bool, tmp_path: Path) -> None:
    forks = Forks()
    schedule = ["-s", str(tmp_path / "schedule"), "--pidfile="]
    worker = forks.worker(tmp_path / "log", *SWEEPER, *schedule)
    until(lambda: len(worker.children()) == 2)
    started = worker.children()
    if dies:
        worker.kill()
        worker.wait()
        assert any(child.is_running() for child in started), "its end alone ends its beat"

    forks.end(worker)
    forks.stop()

    until(lambda: not any(child.is_running() for child in started))
