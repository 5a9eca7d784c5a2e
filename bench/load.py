"""Starting the clients' process, and holding the service to every answer."""

import json
import sys
from collections import Counter
from typing import NamedTuple

from bench import rows
from bench.client import ClientCall, Seen, write_order
from bench.cpu import cpu_of_each, memory_mib, taken_ms
from bench.stage import Stage
from devstack.console import say
from devstack.state import CannotContinue

# The size of a run of the default length; a shorter one has less, and says little.
FULL_SECONDS = 5
# With less percent there is so little beside what is measured that waits need not be as long.
LITTLE_PERCENT = 10


class Scale(NamedTuple):
    """How large the run is, measured by one of the default length.

    :param percent: of what such a run fills in.
    """

    seconds: int
    percent: int = 100

    def of(self, count: int) -> int:
        whole = FULL_SECONDS * 100
        return max(1, count * min(self.seconds, FULL_SECONDS) * self.percent // whole)


class LoadTerms(NamedTuple):
    """How many clients ask at a time, and for how long; how much is filled in.

    :param rounds: of what is measured in turns or several times; None for each one's own number.
    """

    clients: int
    seconds: int
    percent: int = 100
    rounds: int | None = None

    @property
    def warm_seconds(self) -> float:
        return max(1.0, self.seconds / 4)

    def at_least(self, seconds: int) -> int:
        """Return the length of a measurement that needs at least so many seconds."""
        return max(self.seconds, seconds * min(self.percent, LITTLE_PERCENT) // LITTLE_PERCENT)

    @property
    def scale(self) -> Scale:
        return Scale(self.seconds, self.percent)


class Measured(NamedTuple):
    """The answers that the clients got, and the CPU time per answer of each process, in ms.

    :param held: what the web process holds behind them: `web_mib`, the memory of its largest
        worker, and `connections`, those that are open to its database.
    """

    seen: Seen
    cpu_ms: Counter[str]
    held: Counter[str] = Counter()


def load(stage: Stage, call: ClientCall, terms: LoadTerms) -> Measured:
    """Let the clients repeat a call.

    :raises CannotContinue: one answer was wrong.
    """
    say("bench", f"{terms.clients} clients call {call.path} for {terms.seconds} s")
    order = stage.directory / "order.json"
    write_order(
        order,
        call,
        clients=terms.clients,
        warm_seconds=terms.warm_seconds,
        seconds=terms.seconds,
    )
    before = taken_ms(stage.pids)
    program = [sys.executable, "-m", "bench.client", str(order)]
    printed = stage.output_of(program, seconds=terms.warm_seconds + terms.seconds)
    seen = Seen(**json.loads(printed))
    if seen.wrong:
        raise CannotContinue(
            f"{seen.wrong} of {seen.answers} answers of {call.path} were wrong; one was"
            f" {seen.first_wrong}. What the processes said is in {stage.directory}."
        )
    cpu_ms = cpu_of_each(before, taken_ms(stage.pids), seen.answers)
    web_mib = memory_mib(stage.pids)["web"]
    connections = rows.connections_of(stage.places.database_url, "web")
    return Measured(seen, cpu_ms, Counter(web_mib=web_mib, connections=connections))
