"""The journal of what receivers got, read for events that were lost, overtaken or repeated."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

# A delivery sent so long before its process died may not have been written down yet.
LAG_SECONDS = 3.0
# A receiver of the test's own may be that late to note what it got.
SLACK_SECONDS = 1.0


class Got(NamedTuple):
    """One delivery as a receiver got it; the lane is the endpoint and the object."""

    lane: tuple[str, str]
    sequence: int
    delivery_id: str
    is_accepted: bool
    at: float


@dataclass
class Findings:
    """The faults of a journal, and the repeats that a known fault explains."""

    lost: list[tuple[str, str, int]] = field(default_factory=list)
    out_of_order: list[Got] = field(default_factory=list)
    explained: list[Got] = field(default_factory=list)
    unexplained: list[Got] = field(default_factory=list)
    # All that came of the lanes in which something was wrong, to be read when it fails.
    histories: dict[tuple[str, str], list[Got]] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"lost {len(self.lost)}, out of order {len(self.out_of_order)}, repeats "
            f"{len(self.explained)} explained, {len(self.unexplained)} not"
        )

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.out_of_order or self.unexplained)


class Faults:
    """Times at which faults befell processes: they explain the repeats that follow them."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def explain(self, before: Got, got: Got) -> bool:
        """Tell whether a process died after sending it, perhaps before writing that down."""
        return any(
            before.at - SLACK_SECONDS <= fault <= before.at + LAG_SECONDS and fault < got.at
            for fault in self.times
        )


class Journal:
    """Everything that was received, in the order in which it came.

    :param explain: tells of a delivery that was got twice whether that had to be, first the earlier
        time, then the later one.
    """

    def __init__(self, explain: Callable[[Got, Got], bool]) -> None:
        self.got: list[Got] = []
        self._explain = explain

    def examine(self, expected: dict[tuple[str, str], int]) -> Findings:
        """Compare with how many events each lane was told, counted from 1."""
        findings, by_lane = Findings(), defaultdict(list)
        for got in self.got:
            by_lane[got.lane].append(got)
        for lane, count in expected.items():
            self._examine_lane(by_lane[lane], findings)
            if any(got.lane == lane for got in findings.out_of_order + findings.unexplained):
                findings.histories[lane] = by_lane[lane]
            accepted = {got.sequence for got in by_lane[lane] if got.is_accepted}
            missing = set(range(1, count + 1)) - accepted
            findings.lost += [(*lane, sequence) for sequence in sorted(missing)]
        return findings

    def _examine_lane(self, lane: list[Got], findings: Findings) -> None:
        last, seen = 0, dict[str, Got]()
        accepted = set[int]()
        for got in lane:
            is_next = got.sequence == last + 1 and (last == 0 or last in accepted)
            if not is_next and got.sequence != last:
                findings.out_of_order.append(got)
            if before := seen.get(got.delivery_id):
                is_explained = self._explain(before, got)
                (findings.explained if is_explained else findings.unexplained).append(got)
            seen[got.delivery_id] = got
            last = max(last, got.sequence)
            if got.is_accepted:
                accepted.add(got.sequence)
