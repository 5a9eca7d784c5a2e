"""The stage of the webhooks' measurements: a receiver, a publisher and the sending process."""

import json
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from bench import webhooks_authority
from bench.client import Line
from bench.stage import Stage
from bench.webhooks_authority import Certificates
from devstack.ports import free_port
from devstack.state import CannotContinue

NO_REDIS = "unix:///nonexistent/v.sock"
START_PATIENCE_SECONDS = 15
LOOK_EVERY_SECONDS = 0.1
# A step of the publisher that takes longer than it was told to has got stuck.
PUBLISHER_SECONDS = 90

# Each event that came, and when its first byte did (unix time).
Seen = list[tuple[str, float]]


class Site(NamedTuple):
    """The stage with a receiver on it, which takes plain deliveries and ones with TLS."""

    stage: Stage
    port: int
    tls_port: int
    certificates: Certificates | None = None

    @property
    def plain_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"https://127.0.0.1:{self.tls_port}"

    def without_redis(self) -> "Site":
        environment = self.stage.environment | {"REDIS_URL": NO_REDIS}
        return self._replace(stage=self.stage._replace(environment=environment))

    def tell_publisher(self, step: str, **arguments: Any) -> Any:
        """Let the publisher take a step; return what it returned."""
        order = self.stage.directory / "publish.json"
        order.write_text(json.dumps({"step": step, "arguments": arguments}))
        command = [sys.executable, "-m", "bench.webhooks_publisher", str(order)]
        return json.loads(self.stage.output_of(command, seconds=PUBLISHER_SECONDS))

    def wait(self) -> None:
        """Wait until the receiver is there.

        :raises CannotContinue: it does not come.
        """
        deadline = time.monotonic() + START_PATIENCE_SECONDS
        while True:
            try:
                self.ask("count", "nothing")
            except OSError:
                if time.monotonic() > deadline:
                    raise CannotContinue("The receiver does not answer.") from None
                time.sleep(LOOK_EVERY_SECONDS)
            else:
                return

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Run the process that sends, until the block ends; then nothing is left to send."""
        try:
            with self.stage.program("worker", ["manage", "deliver_webhooks"]):
                yield
        finally:
            self.tell_publisher("close_all")

    def await_count(self, name: str, count: int, *, seconds: float) -> None:
        """Wait until so many deliveries came, or until the time is over."""
        deadline = time.monotonic() + seconds
        while self.ask("count", name) < count and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_SECONDS)

    def seen(self, name: str, events: Collection[str]) -> Seen:
        """Return what came, in the order in which it came.

        :raises CannotContinue: not every one of the events did.
        """
        came: Seen = [(event, at) for event, at in self.ask("seen", name)]
        missing = set(events) - {event for event, _ in came}
        if missing:
            raise CannotContinue(
                f"{len(missing)} of {len(events)} events never came to /{name}; one is"
                f" {min(missing)}. What the processes said is in {self.stage.directory}."
            )
        return came

    def ask(self, question: str, name: str) -> Any:
        """Ask the receiver what came to the paths that begin with a name."""
        line = Line(self.port)
        try:
            _status, content = line.ask(f"GET /{question}/{name} HTTP/1.1\r\n\r\n".encode())
        finally:
            line.close()
        return json.loads(content)


@contextmanager
def site(stage: Stage) -> Iterator[Site]:
    """Run the receiver, and let what is started on the stage trust it."""
    certificates = webhooks_authority.make(stage.directory)
    port = free_port(variable="BENCH_RECEIVER_PORT", first=8400)
    tls_port = free_port(variable="BENCH_TLS_PORT", first=8500)
    trusting = {
        "WEBHOOK_DEV_HOSTS": f"127.0.0.1:{port},127.0.0.1:{tls_port}",
        "SSL_CERT_FILE": str(certificates.authority),
    }
    stage = stage._replace(environment=stage.environment | trusting)
    program = ["bench.webhooks_receiver", str(port), str(tls_port), str(certificates.trusted)]
    with stage.program("receiver", program):
        ours = Site(stage, port, tls_port, certificates)
        ours.wait()
        yield ours
