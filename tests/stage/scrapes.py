"""Metrics switched on for a test, and read as Prometheus reads them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from core import metrics
from core.metrics.files import Files

# Ids and secrets as the service writes them, card numbers, addresses and e-mail addresses. A
# route's template has none of them.
SECRET_SHAPES = re.compile(
    r"\b[a-z]{2,8}_(?:test_|live_)?(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{12,}"
    r"|[0-9]{8,}|@|://|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b"
)


class Series(NamedTuple):
    """One series: its name and labels."""

    name: str
    labels: frozenset[tuple[str, str]]


Scrape = dict[Series, float]


def read(text: str) -> Scrape:
    """Return the values of a text of Prometheus'."""
    return {
        Series(sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def own() -> Scrape:
    """Return what all processes of this test's directory have counted."""
    assert metrics.state.files is not None
    registry = CollectorRegistry()
    registry.register(metrics.state.files.collector())
    return read(generate_latest(registry).decode())


def value(found: Scrape, name: str, **labels: str) -> float:
    """Return the sum of the series of a name that have these labels."""
    return sum(
        number
        for series, number in found.items()
        if series.name == name and labels.items() <= dict(series.labels).items()
    )


def revealing(found: Scrape) -> list[Series]:
    """Return the series with a label that looks like an id, a secret or a card number."""
    return [
        series
        for series in found
        if any(SECRET_SHAPES.search(text) for key, text in series.labels if key != "le")
    ]


@contextmanager
def counting(directory: Path) -> Iterator[None]:
    """Count in a directory for the length of the block."""
    files = Files(directory)
    metrics.switch_on(files)
    try:
        yield
    finally:
        metrics.switch_off()
        files.remove()
