"""Alerts, runbooks and the dashboard agree with the code: its metrics and its log events."""

import ast
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils.text import slugify

from acquirers.notice_applier import NoticeApplier
from audit import gauges  # noqa: F401 - It declares what beat reads.
from config.front_door import HEALTH_PATHS
from core import metrics
from devstack.state import ROOT

FOLDER = ROOT / "deploy/monitoring"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0][
    "rules"
]
RUNBOOKS = (ROOT / "docs/operate/runbooks.md").read_text()
WATCH = (ROOT / "docs/operate/watch.md").read_text()
PARTS = re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE)
ROOMS = (
    "acquirers", "api", "audit", "cases", "config", "core", "events", "ledger", "merchants",
    "panel", "payments", "payouts", "testbank", "vault", "webhooks",
)  # fmt: skip
# Events whose name comes from the caller, by the function that takes it; and one that is put
# together.
NAMED_BY_CALLERS = {"alone", "_alone"}
CALLED = [applier.called for applier in NoticeApplier.__subclasses__()]
PUT_TOGETHER = {
    f"{{self.called}}{end}": [f"{called}{end}" for called in CALLED]
    for end in ("_not_applied", "_needs_person")
}


def declared() -> set[str]:
    """Return all metrics: the page's table has them, as another test makes sure."""
    found = set(re.findall(r"^\| `(pay_\w+)`", WATCH, re.MULTILINE))
    assert len(found) > 30
    return found


def used(text: str) -> set[str]:
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"\bpay_\w+", text)}


def errors(source: str) -> Iterator[str]:
    """Yield the names of the log events at level error, or above, of a module."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        named, first = node.func, node.args[0]
        is_log = isinstance(named, ast.Attribute) and named.attr in (
            "error",
            "exception",
            "critical",
        )
        if is_log or (isinstance(named, ast.Name) and named.id in NAMED_BY_CALLERS):
            args = node.args[1:] if not is_log and named.id == "_alone" else node.args  # type: ignore[union-attr]
            yield from _names(args[0] if args else first, constants)


def _names(given: ast.expr, constants: dict[str, Any]) -> Iterator[str]:
    match given:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name) if name in constants:
            yield constants[name]
        case ast.Name():
            pass  # Of the caller, who is read too.
        case ast.JoinedStr():
            yield from PUT_TOGETHER[ast.unparse(given)[2:-1]]


def all_errors() -> set[str]:
    modules = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return {event for path in modules for event in errors(path.read_text())}


def test_each_error_in_the_log_is_in_a_runbook() -> None:
    events = all_errors()
    named = set(re.findall(r"`(\w+)`", RUNBOOKS))

    assert len(events) > 30
    assert events - named == set()


def test_an_error_that_no_runbook_knows_is_found() -> None:
    planted = (
        'log.error("planted_event", row=1)\nwith alone("planted_round", merchant=""):\n    pass'
    )

    assert set(errors(planted)) == {"planted_event", "planted_round"}


def test_each_alert_has_a_runbook_and_each_runbook_an_alert() -> None:
    alerts = {rule["alert"]: rule["annotations"]["runbook"] for rule in RULES}

    assert len(alerts) > 20
    assert set(alerts) == set(PARTS)
    assert alerts == {name: f"docs/operate/runbooks.md#{slugify(name)}" for name in alerts}


def test_alerts_and_dashboard_ask_for_metrics_that_exist() -> None:
    alerts = used(" ".join(rule["expr"] for rule in RULES))
    board = used((FOLDER / "dashboard.json").read_text())

    assert alerts - declared() == set()
    assert board == declared()
    assert metrics.ALL.keys() & board


def test_each_panel_of_the_dashboard_has_a_place_and_a_question() -> None:
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]

    assert len(panels) > 10
    assert len(set(places)) == len(places)
    assert all(panel["type"] == "row" or panel["targets"] for panel in panels)


# Of the beat that is asked; the other figures are the same at each beat.
OF_ONE_BEAT = {"pay_figures_up", "pay_clock_difference_seconds"}
TAKEN_ONCE = re.compile(r"(max(?: by \(\w+\) )?\((delta\()?|absent\()$")


def test_figures_of_the_whole_installation_count_once_however_many_beats_show_them() -> None:
    table = WATCH.partition("Each beat's figures.")[2]
    figures = set(re.findall(r"^\| `(pay_\w+)`", table, re.MULTILINE)) - OF_ONE_BEAT
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    asked = [rule["expr"] for rule in RULES]
    asked += [target["expr"] for panel in panels for target in panel.get("targets", ())]

    pairs = [pair for expr in asked for pair in re.findall(r"([a-z ()]*)\b(pay_\w+)", expr)]
    uses = [(before, name) for before, name in pairs if name in figures]

    assert len(uses) > 2 * len(figures)
    assert [use for use in uses if not TAKEN_ONCE.search(use[0])] == []


def test_the_share_of_failed_requests_leaves_out_each_look_at_the_health() -> None:
    [rule] = [rule["expr"] for rule in RULES if rule["alert"] == "RequestsFail"]
    looks = "|".join(path.removeprefix("/") for path in HEALTH_PATHS)

    assert rule.count("pay_requests_total{") == rule.count(f'route!~"{looks}"') == 2


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if not found:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    return found


@pytest.mark.slow
def test_each_alert_fires_on_a_fault_and_none_without(promtool: str, tmp_path: Path) -> None:
    files = [path.name for path in FOLDER.glob("*_test.yml")]
    given = [one for file in files for one in yaml.safe_load((FOLDER / file).read_text())["tests"]]

    done = _run(promtool, FOLDER, *files)
    assert {one["name"] for one in given if one["name"].endswith(" fires")} == {
        f"{rule['alert']} fires" for rule in RULES
    }
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stdout + done.stderr

    planted = _run(promtool, _planted(tmp_path / "planted"), "alerts_test.yml")
    assert planted.returncode != 0
    assert 'alertname=\\"ProcessDown\\"' in planted.stderr
    assert 'count(ALERTS{alertstate=\\"firing' in planted.stderr


def _planted(folder: Path) -> Path:
    """Copy the rules with two faults: one alert cannot fire, another one always does."""
    shutil.copytree(FOLDER, folder)
    rules = (folder / "alerts.yml").read_text()
    wrong = rules.replace('up{job="pay"} == 0', 'up{job="pay"} == 7').replace("> 120\n", "> 20\n")
    (folder / "alerts.yml").write_text(wrong)
    given = yaml.safe_load((folder / "alerts_test.yml").read_text())
    kept = [one for one in given["tests"] if one["name"].startswith(("ProcessDown", "none"))]
    (folder / "alerts_test.yml").write_text(yaml.safe_dump({**given, "tests": kept}))
    return folder


def _run(promtool: str, folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [promtool, "test", "rules", *files], cwd=folder, capture_output=True, text=True
    )
