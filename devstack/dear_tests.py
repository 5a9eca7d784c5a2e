"""A test that takes over three seconds, or a function over five, says why (loaded by `-p`).

The time of the processors is counted, the test's own and that of the processes it has ended: a
busy machine makes a test take longer, and no test may fail for that. So one fails only for four
times as much; every one that took longer is printed after the run, for a person to look at.
The same holds for a function, all its cases together.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

# They are minutes long by nature, and run apart from the suite.
LONG = {"slow", "proof", "browser"}
# On a busy machine the same test was seen to take up to two and a half times its own time.
SHARED = 4
SECONDS = "processor_seconds"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("dear_seconds", "how long a test may take without a reason", default="3")
    parser.addini("dear_function_seconds", "how long all cases together may take", default="5")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "dear(reason): takes more than three seconds, for a reason")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    began = _processor_seconds()
    result = yield
    seconds = _processor_seconds() - began
    item.user_properties.append((SECONDS, seconds))
    if seconds > SHARED * _limit(item.config) and not _may_be_dear(item):
        pytest.fail(
            f"takes {seconds:.1f} s of a processor: make it cheaper,"
            ' or say why it cannot be: @pytest.mark.dear("...")',
            pytrace=False,
        )
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not reporter or session.exitstatus != pytest.ExitCode.OK:
        return
    most = SHARED * _function_limit(session.config)
    if any(seconds > most for seconds in _without_reason(reporter).values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    _tell_functions(terminalreporter)
    limit = _limit(terminalreporter.config)
    long = [
        report
        for report in _called(terminalreporter)
        if report.duration > limit and not _exempts(report.keywords)
    ]
    if long:
        terminalreporter.section(f"longer than {limit:g} s without a reason (or a busy machine)")
    for report in sorted(long, key=lambda one: -one.duration):
        terminalreporter.line(f"{report.duration:.2f}s {report.nodeid}")


def _tell_functions(reporter: pytest.TerminalReporter) -> None:
    seconds, unexplained = _seconds_of_functions(reporter), _without_reason(reporter)
    reporter.line(
        f"{len(seconds)} functions read, {sum(seconds.values()):.0f} s of a processor;"
        f" over {_function_limit(reporter.config):g} s and unexplained: {len(unexplained)}"
    )
    for name, spent in unexplained.most_common():
        reporter.line(f"{spent:.1f}s {name}: make it cheaper, or mark it dear")


def _seconds_of_functions(reporter: pytest.TerminalReporter) -> Counter[str]:
    """Return the processor time of each function, all its cases together."""
    seconds: Counter[str] = Counter()
    for report in _called(reporter):
        spent: Any = dict(report.user_properties)[SECONDS]
        seconds[_function(report)] += spent
    return seconds


def _without_reason(reporter: pytest.TerminalReporter) -> Counter[str]:
    """Return the functions over their limit that neither run apart nor give a reason."""
    if "BEHIND_POOLER" in os.environ:
        return Counter()
    exempt = {_function(one) for one in _called(reporter) if _exempts(one.keywords)}
    limit = _function_limit(reporter.config)
    seconds = _seconds_of_functions(reporter).items()
    return Counter({name: spent for name, spent in seconds if spent > limit and name not in exempt})


def _called(reporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    passed = reporter.getreports("passed")
    return [report for report in passed if report.when == "call"]


def _function(report: pytest.TestReport) -> str:
    return report.nodeid.partition("[")[0]


def _may_be_dear(item: pytest.Item) -> bool:
    # Behind a pooler each test commits what it does.
    if "BEHIND_POOLER" in os.environ or any(map(item.get_closest_marker, LONG)):
        return True
    reason = item.get_closest_marker("dear")
    return bool(reason and reason.args)


def _exempts(keywords: Mapping[str, object]) -> bool:
    return bool({*LONG, "dear"} & set(keywords))


def _limit(config: pytest.Config) -> float:
    return float(config.getini("dear_seconds"))


def _function_limit(config: pytest.Config) -> float:
    return float(config.getini("dear_function_seconds"))


def _processor_seconds() -> float:
    return sum(os.times()[:4])
