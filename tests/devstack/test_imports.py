"""The import contracts bite: an import planted against them is found."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from devstack.state import ROOT

ROOMS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]
pytestmark = pytest.mark.slow

LINTER = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the rooms, to plant imports in."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(tree: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [LINTER, "--no-cache"],
        cwd=tree,
        # Not our own rooms, which pytest put on the path.
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )


def plant(tree: Path, file: str, statement: str) -> None:
    path = tree / file
    path.write_text(f"{path.read_text()}\n{statement}\n")


def test_the_tree_as_it_is_keeps_all_contracts(tree: Path) -> None:
    done = lint(tree)

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


PLANTED = [
    ("core/ids.py", "from merchants import keys", "Rooms import downward only"),
    ("events/outbox.py", "import payments.intents.states", "Rooms import downward only"),
    ("webhooks/views.py", "from payments.intents import render", "Rooms import downward only"),
    ("ledger/book/charges.py", "from vault import cards", "Rooms import downward only"),
    ("payments/intents/render.py", "from vault import reveal", "Only acquirers reveal a card"),
    ("vault/cards.py", "from vault import reveal", "Only acquirers reveal a card"),
    ("config/errors.py", "from vault.reveal import reveal", "Only acquirers reveal a card"),
    ("tests/stage/client.py", "from vault import reveal", "Only acquirers reveal a card"),
    ("tests/stage/oldbank/host.py", "from vault import reveal", "Only acquirers reveal a card"),
    ("tests/stage/client.py", "from tests.core import test_cards", "Tests stand on the stage"),
    ("payments/refunds/refunds.py", "from core import rows", "Kept statements are for"),
    ("core/rows.py", "from core.postgresql import calls", "Only prepared statements are called"),
    ("devstack/ports.py", "from bench import load", "Rooms import downward only"),
    ("devstack/ports.py", "from vault import cards", "The development tools"),
    ("payments/intents/render.py", "from audit import report", "Rooms import downward only"),
    ("acquirers/slots.py", "from ledger import book", "Acquirers, the ledger"),
    ("acquirers/declines.py", "from acquirers import slots", "Inside acquirers"),
    ("payments/customers/render.py", "from payments.intents import states", "Inside payments"),
    ("payments/intents/states.py", "from payments.intents import resource", "Inside intents"),
    ("payments/charging/methods.py", "from payments.checkout import states", "Inside payments"),
    ("payments/checkout/render.py", "from payments.checkout import drafts", "Inside checkout"),
    ("webhooks/delivery/lanes.py", "from webhooks import replay", "Inside webhooks"),
    ("webhooks/delivery/shares.py", "from webhooks.delivery import lanes", "Inside delivery"),
    ("webhooks/delivery/http/wires.py", "from webhooks.delivery import drain", "Inside delivery"),
    ("merchants/keys.py", "from api import viewset", "Rooms import downward only"),
    ("merchants/keys.py", "from merchants import accounts", "Inside merchants"),
    ("vault/sealed_rows.py", "from vault import rotation", "Inside vault"),
]


def test_each_import_against_a_contract_is_found(tree: Path) -> None:
    for file, statement, _contract in PLANTED:
        plant(tree, file, statement)

    done = lint(tree)

    assert done.returncode == 1
    told = told_by_contract(done.stdout)
    missed = [one for one in PLANTED if not told_alone(arrow(*one[:2]), told_of(told, one[2]))]
    assert (missed, len(PLANTED)) == ([], 27), done.stdout


def told_by_contract(report: str) -> dict[str, str]:
    """Return what the linter says of each broken contract: its name is underlined."""
    _kept, _mark, broken = report.partition("Broken contracts")
    names = re.findall(r"^(.+)\n-+$", broken, re.MULTILINE)
    texts = re.split(r"^.+\n-+$", broken, flags=re.MULTILINE)[1:]
    return dict(zip(names, texts, strict=True))


def told_of(told: dict[str, str], contract: str) -> str:
    return "".join(text for name, text in told.items() if name.startswith(contract))


def told_alone(one: str, text: str) -> bool:
    """Tell whether an import is told by itself, and not as a part of a longer way."""
    return bool(re.search(rf"^- +{re.escape(one)}l\.\d+\)\n(?! )", text, re.MULTILINE))


def arrow(file: str, statement: str) -> str:
    """Return an import as the linter writes it: `core.ids -> merchants.keys (`."""
    importer = file.removesuffix(".py").replace("/", ".")
    word, room, *rest = statement.split()
    inner = f"{room}.{rest[-1]}" if word == "from" else room
    is_room = (ROOT / inner.replace(".", "/")).is_dir()
    is_module = (ROOT / f"{inner.replace('.', '/')}.py").exists()
    return f"{importer} -> {inner if is_room or is_module else room} ("


def test_a_gateway_may_reveal(tree: Path) -> None:
    plant(tree, "acquirers/gateway.py", "from vault import reveal")

    assert lint(tree).returncode == 0
