"""The page `Install on Debian` leads a new host to a first payment, as it is written."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from devstack.state import ROOT
from tests.stage.debian_shop import FETCHING, IN_LIVE, INSTALL, lines, pay, receive, until_ready
from tests.stage.guide_pages import commands
from tests.stage.lengths import IS_FULL, tried
from tests.stage.new_debian import NewDebian, new_host

# The check of the payment page, as an operator gives it to cron.
[CHECK] = re.findall(
    r"^(?:\S+ ){4}\S+  (\S+)  (.+)$", (ROOT / "docs/operate/pci.md").read_text(), re.M
)
KEY_FILE = commands("pci")["11.6.1: changes of the page"][-1]


def test_the_page_has_no_broken_command() -> None:
    for block in (*INSTALL, *IN_LIVE):
        read = subprocess.run(["bash", "-n", "-c", block], capture_output=True, text=True)  # noqa: S607
        assert read.returncode == 0, read.stderr
    assert (len(INSTALL) >= 8, len(IN_LIVE) >= 5) == (True, True)
    assert subprocess.run(["bash", "-n", "-c", "if true"], capture_output=True).returncode  # noqa: S607


def test_the_page_names_files_units_and_settings_that_there_are() -> None:
    text = "".join((*INSTALL, *IN_LIVE))
    files = set(re.findall(r"/opt/pay/(deploy/[\w./-]+\w|requirements\.txt)", text))
    units = set(re.findall(r"\bpay-(?!manage)[a-z]+|\bpay\.target", text))
    settings = set(re.findall(r"^([A-Z_]+)=", text, re.M))
    explained = set(re.findall(r"^#? ?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.M))

    assert [file for file in files if not (ROOT / file).exists()] == []
    unit_files = {path.stem for path in (ROOT / "deploy/systemd").glob("*.service")}
    assert {unit for unit in units if unit.startswith("pay-")} - {"pay-static"} == unit_files
    assert (len(files) >= 4, settings - explained, len(settings) >= 10) == (True, set(), True)


def test_the_line_for_cron_names_the_command_that_the_page_installs() -> None:
    """cron has no settings of ours, and looks for commands in /usr/bin and /bin alone."""
    text = "".join(INSTALL)
    [(name, directory)] = re.findall(r"^install .* /opt/pay/deploy/bin/(\S+) (\S+)$", text, re.M)

    assert (CHECK[0], CHECK[1].split()[0]) == ("root", directory + name)
    assert KEY_FILE.split()[-1] in CHECK[1].split()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewDebian]:
    with new_host(tmp_path_factory.mktemp("debian")) as host:
        yield host


@pytest.mark.proof(part="install")
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not IS_FULL, reason="./dev prove plays it")
def test_the_page_as_it_is_written_leads_to_a_payment_a_refund_and_a_delivery(
    host: NewDebian,
) -> None:
    outputs = [host.run(block) for block in INSTALL[:FETCHING]]
    host.start()
    outputs += [host.run(block) for block in INSTALL[FETCHING:]]

    [payment] = lines(host, "payment.json")
    assert (payment["status"], payment["amount_charged"]) == ("succeeded", 12500)
    refund, events = _two(outputs[-1])
    assert (refund["status"], refund["amount"]) == ("succeeded", 12500)
    assert {"payment_intent.succeeded", "refund.succeeded"} <= {
        event["type"] for event in events["data"]
    }
    _cron_finds_the_page_unchanged(host)
    _a_delivery_arrives(host)
    _all_of_it_comes_back_after_a_start_of_the_host(host)
    tried(len(INSTALL), "blocks of the page")


def _two(text: str) -> list[Any]:
    """Return two JSON values that are written one behind the other."""
    first, end = json.JSONDecoder().raw_decode(text)
    return [first, json.JSONDecoder().raw_decode(text[end:].lstrip())[0]]


def _cron_finds_the_page_unchanged(host: NewDebian) -> None:
    host.run(f"{KEY_FILE}\necho $key > {KEY_FILE.split()[-1]}")
    as_cron = f"env --ignore-environment PATH=/usr/bin:/bin sh -c '{CHECK[1]}'"
    unknown = host.run(f"{as_cron} 2>&1 || true")
    # The command trusts authorities alone, as payers' browsers do; the page's certificate has none.
    host.run("cat /etc/pay/tls/fullchain.pem >> $(/opt/pay/.venv/bin/python -m certifi)")

    assert "CERTIFICATE_VERIFY_FAILED" in unknown, unknown
    assert host.run(f"{as_cron} 2>&1") == ""


def _a_delivery_arrives(host: NewDebian) -> None:
    receive(host)
    pay(host, "delivered.json")
    arrived = "grep --quiet payment_intent.succeeded received"
    host.run(f"timeout 60 sh -c 'until {arrived}; do sleep 0.2; done'")


def _all_of_it_comes_back_after_a_start_of_the_host(host: NewDebian) -> None:
    host.stop()
    host.start()
    until_ready(host)
    pay(host, "again.json")
    host.run("systemctl kill --signal=KILL pay-web pay-worker pay-webhooks pay-beat pay-bank")
    until_ready(host)
    pay(host, "after_kills.json")
    _metrics_are_at_sockets(host)
    _a_process_that_fails_at_once_is_started_again_and_again(host)
    host.run("timeout 120 sh -c 'until pay-manage status; do sleep 1; done'")
    host.run("pay-manage audit")


def _metrics_are_at_sockets(host: NewDebian) -> None:
    host.run("echo METRICS_BIND=/run/pay-metrics/pay >> /etc/pay/environment")
    host.run("systemctl restart pay-web pay-worker pay-webhooks pay-beat")
    until_ready(host)
    host.run("systemctl restart pay-beat")  # Its end takes no other unit's socket along.
    for kind in ("web", "worker", "sender", "beat"):
        ask = f"curl --silent --unix-socket /run/pay-metrics/pay.{kind} http://localhost/metrics"
        host.run(f"timeout 60 sh -c 'until {ask} | grep --quiet ^pay_; do sleep 0.2; done'")


def _a_process_that_fails_at_once_is_started_again_and_again(host: NewDebian) -> None:
    change = "/run/systemd/system/pay-web.service.d"
    fails = "[Service]\\nExecStart=\\nExecStart=/bin/false\\n"
    starts = "systemctl show pay-web --property=NRestarts --value"
    host.run(f"mkdir {change} && printf '{fails}' > {change}/fails.conf")
    host.run("systemctl daemon-reload && systemctl restart pay-web")
    host.run(f"timeout 120 sh -c 'until [ $({starts}) -gt 10 ]; do sleep 0.2; done'")
    host.run(f"rm -r {change} && systemctl daemon-reload && systemctl restart pay-web")
    until_ready(host)
