"""The page for assessments lists the cryptography of the code, and commands that there are."""

import re
import resource
import subprocess
import sys

from django.core.management import get_commands, load_command_class

from core.keyring import sealing
from devstack.state import ROOT
from merchants import audit_log, unused_accounts
from merchants.passwords import Argon2InTurn

PAGE = (ROOT / "docs/operate/assessment.md").read_text()
ROOMS = (
    "acquirers", "api", "audit", "cases", "config", "core", "events", "ledger", "merchants",
    "panel", "payments", "payouts", "vault", "webhooks",
)  # fmt: skip
USES = re.compile(
    r"^ *(?:import|from) (?:hashlib|hmac|ssl|cryptography|argon2|pkcs11)|salted_hmac\("
    r"|Argon2PasswordHasher|\.macs?\(|\.fingerprints\(|\.marked\(",
    re.M,
)


def users_of_cryptography() -> set[str]:
    """Return the modules of the service that use cryptography."""
    modules = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return {str(one.relative_to(ROOT)) for one in modules if USES.search(one.read_text())}


def listed() -> set[str]:
    section = PAGE.partition("## Algorithms")[2].partition("\n## ")[0]
    return set(re.findall(r"`(\w+(?:/\w+)+\.py)`", section))


def test_the_list_has_each_module_that_uses_cryptography_and_no_other() -> None:
    assert users_of_cryptography() == listed()
    assert len(listed()) > 20


def test_the_lengths_and_costs_are_those_of_the_code() -> None:
    bits = f"{sealing.KEY_BYTES * 8} bits, nonce of {sealing.NONCE_BYTES * 8} bits"
    assert f"AES-256-GCM, {bits}" in PAGE
    cost, rounds, lanes = Argon2InTurn.memory_cost, Argon2InTurn.time_cost, Argon2InTurn.parallelism
    assert f"{cost} KiB, {rounds} rounds, {lanes} lane" in PAGE
    assert f"after {unused_accounts.UNUSED.days} days" in PAGE


def test_each_command_and_action_that_it_names_exists() -> None:
    commands = set(re.findall(r"manage\.py (\w+)", PAGE))
    evidence = PAGE.partition("## Evidence")[2]
    actions = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", evidence))

    assert commands <= get_commands().keys()
    assert len(commands) >= 5
    assert actions <= audit_log.ACTIONS
    assert len(actions) >= 5


def unproved(page: str) -> list[str]:
    """Return the lines of evidence without a test, or with one that is not there."""
    lines = [line for line in page.partition("## Evidence")[2].splitlines() if line[:3] != "|--"]
    found = []
    for line in [line for line in lines if line.startswith("| ")][1:]:
        files = re.findall(r"`(tests/[\w/]+\.py)`", line)
        if not files or not all((ROOT / file).is_file() for file in files):
            found.append(line)
    return found


def test_each_line_of_evidence_names_a_test_that_exists() -> None:
    assert unproved(PAGE) == []
    assert PAGE.partition("## Evidence")[2].count("`tests/") > 15


def test_a_line_without_its_test_is_found() -> None:
    assert len(unproved(PAGE.replace("tests/vault/test_proof.py", "tests/vault/gone.py"))) == 1
    assert len(unproved(f"{PAGE}| 3.5 | a rule | a look | none |\n")) == 1


def test_each_step_of_the_key_ring_that_it_names_exists() -> None:
    steps = set(re.findall(r"manage\.py keyring ([a-z-]+)", PAGE))
    parser = load_command_class("vault", "keyring").create_parser("manage.py", "keyring")
    known = {step for one in parser._actions if one.dest == "step" for step in one.choices or ()}

    assert steps <= known
    assert len(steps) >= 3


def test_a_process_writes_no_core_dump_and_in_live_shows_its_memory_to_nobody() -> None:
    program = (
        "import os, resource; from core.hardening import forbid_core_dumps as forbid;"
        "forbid(is_live=True);"
        "print(resource.getrlimit(resource.RLIMIT_CORE), os.stat('/proc/self/mem').st_uid)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout

    # A process whose memory is closed is root's in /proc.
    assert said.split(") ") == ["(0, 0", "0\n"]
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
