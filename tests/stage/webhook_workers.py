"""Processes that deliver, as an installation runs them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.stage.web_process import Running

TIMEOUT_SECONDS, LEASE_SECONDS = 1.0, 4.0


class Worker(Running):
    """`manage.py deliver_webhooks`, with a short deadline and a short lease."""

    def __init__(
        self,
        log: Path,
        *hosts: str,
        command: list[str] | None = None,
        without: str | None = None,
        **changed: str,
    ) -> None:
        """:param without: the guard that is taken out of it, see tests.stage.broken_worker."""
        if without:
            command = ["tests.stage.broken_worker", "deliver_webhooks"]
        settings = {
            "WEBHOOK_DEV_HOSTS": ",".join(hosts),
            "WEBHOOK_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
            "WEBHOOK_LEASE_SECONDS": str(LEASE_SECONDS),
            "WITHOUT": without or "",
            **changed,
        }
        super().__init__(log, command or ["manage", "deliver_webhooks"], **settings)

    def started(self) -> "Worker":
        self.wait_for("(webhooks_started)")
        return self

    def ends_with(self, seconds: float) -> int:
        """Return the status that the process ends with."""
        return self._process.wait(seconds)


@contextmanager
def worker(
    log: Path, *hosts: str, command: list[str] | None = None, **changed: str
) -> Iterator[Worker]:
    process = Worker(log, *hosts, command=command, **changed)
    try:
        yield process.started()
    finally:
        if command:
            process.stop()  # Celery's beat is a process of its own, which a kill would leave.
        else:
            process.kill()


def celery(directory: Path, application: str = "config") -> list[str]:
    """Return the command of the worker for webhooks, with a beat of its own."""
    schedule = ["-B", "-s", str(directory / "schedule"), "--pidfile="]
    options = ["-Q", "webhooks", "--pool", "solo", "--without-gossip", "--without-mingle"]
    return ["celery", "-q", "-A", application, "worker", *options, *schedule]
