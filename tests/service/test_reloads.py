"""SIGHUP reloads nothing: each process goes on as it was, and says so (test_health has the web)."""

import re
import signal
from pathlib import Path

import pytest

from tests.stage.kills import until
from tests.stage.web_process import PATIENCE_SECONDS, Running

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

CELERY = ["celery", "-q", "-A", "config"]
WORKER = [*CELERY, "worker", "-c", "1", "--without-gossip", "--without-mingle"]
# The command, a line of its log once it is at work, and one of its end. Beat logs nothing at first.
PROCESSES = {
    "worker": ([*WORKER, "-Q", "default"], "ready", "worker: Warm shutdown"),
    "solo worker": ([*WORKER, "-Q", "webhooks", "--pool", "solo"], "ready", "Warm shutdown"),
    "beat": ([*CELERY, "beat", "--pidfile="], None, "beat_stopped"),
    "sender": (["manage", "deliver_webhooks"], "webhooks_started", "webhooks_stopped"),
}
REFUSED = "reload_refused"


@pytest.mark.every_case("each process takes the signal by itself")
@pytest.mark.parametrize("kind", PROCESSES)
def test_sighup_changes_nothing_but_the_log(kind: str, tmp_path: Path) -> None:
    command, at_work, end = PROCESSES[kind]
    own = {"MARK_FILE": str(tmp_path / "mark"), "BEAT_FILE": str(tmp_path / "schedule")}
    process = Running(tmp_path / "log", command, **own)
    try:
        if at_work:
            process.wait_for(f"({at_work})")
        else:
            until(Path(own["MARK_FILE"]).exists, PATIENCE_SECONDS)
        children = process.workers()

        assert bool(children) == (kind == "worker")
        for one in children:  # As to a whole group of processes.
            # The parent is ready before they are.
            until(lambda one=one: ignores_sighup(one.pid), PATIENCE_SECONDS)
            one.send_signal(signal.SIGHUP)
        process.signal(signal.SIGHUP)
        process.wait_for(f"({REFUSED}|Restarting)")
        assert process.workers() == children
    finally:
        process.begin_to_stop()
        status = process.exit_status()

    assert status == 0
    assert end in process.log
    assert process.log.count(REFUSED) == 1
    assert "Restarting" not in process.log
    assert "exited with" not in process.log  # Of a child that died.


def ignores_sighup(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    [ignored] = re.findall(r"^SigIgn:\s*([0-9a-f]+)$", status, re.M)
    return bool(int(ignored, 16) >> (signal.SIGHUP - 1) & 1)
