"""A card's number leaves the vault through vault.reveal and by no other way."""

import ast
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from api import idempotency
from core import keyring
from devstack.state import ROOT
from payments.charging import card_destruction
from payments.intents import render
from tests.stage.factories import MerchantFactory, sealed_card
from tests.stage.one_way_out import CardOpened
from vault import cards
from vault.reveal import reveal

pytestmark = pytest.mark.django_db

ROOMS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]
# The only modules that open anything sealed; each names what it opens.
OPENERS = {
    "acquirers/terminals.py", "core/keyring/sealing.py", "api/idempotency/kept.py",
    "payments/checkout/tickets.py", "payments/risk/entry_renewal.py", "vault/reveal.py",
    "webhooks/signing_secrets.py",
}  # fmt: skip


def openers(root: Path) -> set[str]:
    """Return the files that call `….open(…, context=…)`."""
    files = [file for room in ROOMS if room != "tests" for file in (root / room).rglob("*.py")]
    print(f"{len(files)} files read")  # noqa: T201
    return {str(file.relative_to(root)) for file in files if _opens(ast.parse(file.read_text()))}


def _opens(tree: ast.AST) -> bool:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "open"
        and any(keyword.arg == "context" for keyword in call.keywords)
        for call in calls
    )


def test_sealed_bytes_are_opened_in_these_places_only() -> None:
    assert openers(ROOT) == OPENERS


def test_another_place_is_found(tmp_path: Path) -> None:
    planted = tmp_path / "payments" / "intents" / "render.py"
    planted.parent.mkdir(parents=True)
    planted.write_text(
        "def number(row):\n    return ring().open(row.sealed, context=row.seal_context)"
    )

    assert openers(tmp_path) == {"payments/intents/render.py"}


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("module", [cards, idempotency, render, card_destruction])
def test_whoever_else_opens_a_card_is_caught_whatever_the_test_is_about(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = sealed_card(MerchantFactory())
    planted = "def peek(row): return ring().open(bytes(row.sealed), context=row.seal_context)"
    monkeypatch.setattr(module, "ring", keyring.ring, raising=False)
    monkeypatch.setattr(module, "peek", None, raising=False)
    exec(planted, vars(module))  # noqa: S102

    with pytest.raises(CardOpened, match=module.__name__):
        module.peek(card)
    assert reveal(card).number
