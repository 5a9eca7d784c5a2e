"""A test that takes more than three seconds says why (loaded by `-p` in pyproject.toml).

The time of the processors is counted, the test's own and that of the processes it has ended: a
busy machine makes a test take longer, and no test may fail for that. So one fails only for four
times as much; every one that took longer is printed after the run, for a person to look at.
"""

import os
from collections.abc import Iterator

import pytest

# They are minutes long by nature, and run apart from the suite.
LONG = {"slow", "proof", "browser"}
# On a busy machine the same test was seen to take up to two and a half times its own time.
SHARED = 4


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("dear_seconds", "how long a test may take without a reason", default="3")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dear(reason): takes more than three seconds, for a reason")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    began = _processor_seconds()
    result = yield
    seconds = _processor_seconds() - began
    if seconds > SHARED * _limit(item.config) and not _may_be_dear(item):
        pytest.fail(
            f"takes {seconds:.1f} s of a processor: make it cheaper,"
            ' or say why it cannot be: @pytest.mark.dear("...")',
            pytrace=False,
        )
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    limit = _limit(terminalreporter.config)
    long = [
        report
        for report in terminalreporter.getreports("passed")
        if report.when == "call" and report.duration > limit and not _exempts(report.keywords)
    ]
    if long:
        terminalreporter.section(f"longer than {limit:g} s without a reason (or a busy machine)")
    for report in sorted(long, key=lambda one: -one.duration):
        terminalreporter.line(f"{report.duration:.2f}s {report.nodeid}")


def _may_be_dear(item: pytest.Item) -> bool:
    # Behind a pooler each test commits what it does.
    if "BEHIND_POOLER" in os.environ or any(map(item.get_closest_marker, LONG)):
        return True
    reason = item.get_closest_marker("dear")
    return bool(reason and reason.args)


def _exempts(keywords: dict[str, object]) -> bool:
    return bool({*LONG, "dear"} & set(keywords))


def _limit(config: pytest.Config) -> float:
    return float(config.getini("dear_seconds"))


def _processor_seconds() -> float:
    return sum(os.times()[:4])
