"""Metrics: what this process counts, for Prometheus; the one door through which rooms count.

A room declares a metric next to the code that knows the fact, and counts it there. Without
`METRICS_BIND` nothing is counted: a call looks at one flag. Several processes write to files of
one directory, and whichever of them is asked adds them up (`core.metrics.address`).

No label names a merchant, a payment, a card or a person. A label takes listed values, or names
that the code or an operator wrote; every other value is shown as `other`.
"""

import re
from collections.abc import Collection, Mapping
from functools import partial
from itertools import product
from math import prod
from threading import Lock
from typing import Any

import prometheus_client
import structlog
from django.db import transaction
from prometheus_client import values
from prometheus_client.metrics import MetricWrapperBase

from core.metrics.files import Files
from core.registry import Registry

OTHER = "other"
# A name of the code's or an operator's. Ids are refused: they have twelve or more letters and
# digits behind a prefix, among them a digit or a capital, which no word of a name has.
NAME = re.compile(r"[A-Za-z0-9_./<>:{}-]{1,120}", re.ASCII)
ID = re.compile(r"(?:^|[/_-])[a-z]{2,8}_(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{12,}|[0-9]{8,}", re.ASCII)
NAMES_MAX = 200
# Series that are written at the start, with the value 0: an alert sees their first step.
FEW = 32
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 45.0)

_making = Lock()
log = structlog.get_logger(__name__)


class Label:
    """The values that a label may have: those listed, or names that no client chose.

    :param listed: all values; empty for names, of which the first 200 are shown.
    """

    def __init__(self, *listed: str) -> None:
        self.listed = frozenset(listed)
        self._seen: set[str] = set()

    def shown(self, value: str) -> str:
        """Return the value as the metric has it."""
        if self.listed:
            return value if value in self.listed else OTHER
        if value not in self._seen:
            if len(self._seen) >= NAMES_MAX or not NAME.fullmatch(value) or ID.search(value):
                return OTHER
            self._seen.add(value)
        return value


class OwnNames(Label):
    """The values of a label that come from a closed list in the code: each is shown."""

    def shown(self, value: str) -> str:
        return value


class Metric:
    """One declared metric; its series are made when metrics are on."""

    kind: type[MetricWrapperBase]
    options: Mapping[str, Any] = {}

    def __init__(self, name: str, meaning: str, **labels: Label) -> None:
        self.name, self.meaning, self.labels = name, meaning, labels
        self._made: Any = None
        self._series: dict[tuple[str, ...], Any] = {}
        ALL.add(name, self)

    def forget(self) -> None:
        """Drop all series, for metrics that are switched off or on."""
        self._made, self._series = None, {}

    def prepare(self) -> None:
        """Make the series, if they are few and known."""
        listed = [label.listed for label in self.labels.values()]
        if all(listed) and prod(map(len, listed)) <= FEW:
            for found in product(*map(sorted, listed)):
                self.series(found)

    def series(self, found: tuple[str, ...]) -> Any:
        """Return the series of these labels."""
        known = self._series.get(found)
        if known is not None:
            return known
        # Two of the library's own for the same labels would each forget what the other has added.
        with _making:
            known = self._series.get(found)
            return self._make(found) if known is None else known

    def _make(self, found: tuple[str, ...]) -> Any:
        if self._made is None:
            names = list(self.labels)
            self._made = self.kind(self.name, self.meaning, names, registry=None, **self.options)
        pairs = zip(self.labels.values(), found, strict=True)
        shown = tuple(label.shown(value) for label, value in pairs)
        series = self._made.labels(*shown) if shown else self._made
        if shown == found:  # Others may be without end.
            self._series[found] = series
        return series

    def _write(self, found: tuple[str, ...], method: str, value: float) -> None:
        try:
            getattr(self.series(found), method)(value)
        except Exception as problem:  # noqa: BLE001 - No payment fails because of a count.
            switch_off()
            log.error("metrics_lost", reason=type(problem).__name__)


class Counter(Metric):
    """A number that only grows; its name ends in `_total`."""

    kind = prometheus_client.Counter

    def count(self, *found: str, by: float = 1.0) -> None:
        """Add to the series of these labels."""
        if state.files is not None:
            self._write(found, "inc", by)

    def count_after_commit(self, *found: str) -> None:
        """Count once the transaction is committed; not at all if it is rolled back."""
        if state.files is not None:
            transaction.on_commit(partial(self.count, *found))


class Histogram(Metric):
    """Durations in seconds, or other sizes, by ranges."""

    kind = prometheus_client.Histogram

    def __init__(
        self, name: str, meaning: str, *, ranges: Collection[float] = SECONDS, **labels: Label
    ) -> None:
        super().__init__(name, meaning, **labels)
        self.options = {"buckets": tuple(ranges)}

    def note(self, value: float, *found: str) -> None:
        """Add one value to the series of these labels."""
        if state.files is not None:
            self._write(found, "observe", value)


class Gauge(Metric):
    """A number that rises and falls; those of all living processes are added up."""

    kind = prometheus_client.Gauge
    options = {"multiprocess_mode": "livesum"}

    def set(self, value: float, *found: str) -> None:
        """Give the series of these labels its value in this process."""
        if state.files is not None:
            self._write(found, "set", value)


class _State:
    files: Files | None = None


# By name.
ALL: Registry[Metric] = Registry("metric")
state = _State()


def is_on() -> bool:
    """Return whether this process counts."""
    return state.files is not None


def switch_on(files: Files) -> None:
    """Count from now on, in files of a directory that several processes share."""
    values.ValueClass = files.value_class()
    _forget_all()
    state.files = files


def prepare() -> None:
    """Make the series of all metrics that have few."""
    for metric in ALL.values():
        metric.prepare()


def switch_off() -> None:
    """Count nothing from now on."""
    state.files = None
    values.ValueClass = values.MutexValue
    _forget_all()


def _forget_all() -> None:
    for metric in ALL.values():
        metric.forget()
