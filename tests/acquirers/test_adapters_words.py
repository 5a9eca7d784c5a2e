"""No room but an adapter's knows a bank's words, or asks which acquirer it talks to."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from acquirers.sandbox import answers, refunds
from devstack.state import ROOT

ROOMS = (
    "payments",
    "payouts",
    "audit",
    "ledger",
    "events",
    "webhooks",
    "vault",
    "api",
    "merchants",
    "core",
)
# The adapters' own folders; the rest of the room is for every acquirer.
OF_EVERY_ACQUIRER = ("acquirers/*.py", "acquirers/conversation/*.py", "acquirers/wire/*.py")
# The place that finds the adapter of a terminal's kind, and the one that sets a terminal up.
MAY_NAME_THE_KIND = {"acquirers/__init__.py", "acquirers/terminals.py"}
# The kinds, and the words of the test bank that our own enums do not have too.
OURS = {"approved", "declined", "authentication_required", "pending", "unknown", "voided", "lapsed"}
WORDS = {
    *settings.ACQUIRERS,
    *({*answers.TO_AUTHORIZATIONS, *answers.TO_OPERATIONS} - OURS - {"captured", "refused"}),
    *({*answers.TO_DISPUTES, *refunds.TO_REFUNDS} - OURS - {"refused"}),
    "TESTBANK_URL",
    "TESTBANK_SIGNING_KEY",
}


def sources(root: Path) -> list[Path]:
    rooms = [path for room in ROOMS for path in (root / room).rglob("*.py")]
    shared = [path for pattern in OF_EVERY_ACQUIRER for path in root.glob(pattern)]
    return [path for path in [*rooms, *shared] if "migrations" not in path.parts]


def banks_words(path: Path) -> Iterator[str]:
    """Yield what a module says of one acquirer: its words as texts or settings, its kind asked."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    explained = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in explained and text in WORDS:
                yield text
            case ast.Attribute(attr=name) if name in WORDS:
                yield name
            case ast.Attribute(value=ast.Name(id="terminal"), attr="kind"):
                yield "terminal.kind"
            case ast.Attribute(value=ast.Attribute(attr="terminal"), attr="kind"):
                yield "terminal.kind"


def found(root: Path) -> list[str]:
    """Return each word with its place, but for those that may name the kind."""
    read = [(path, path.relative_to(root).as_posix()) for path in sources(root)]
    return [
        f"{shown}: {word}"
        for path, shown in read
        if shown not in MAY_NAME_THE_KIND
        for word in banks_words(path)
    ]


def test_no_room_but_the_adapters_knows_a_banks_word() -> None:
    count = len(sources(ROOT))
    print(f"{count} modules read for {sorted(WORDS)}")  # noqa: T201

    assert found(ROOT) == []
    assert count > 100


@pytest.mark.parametrize(
    "planted",
    [
        "if attempt.terminal.kind == 'x': pass",
        "if terminal.kind in KINDS: pass",
        "url = settings.TESTBANK_URL",
        "is_ours = name == 'sandbox'",
    ],
)
def test_a_word_that_is_planted_is_found(planted: str, tmp_path: Path) -> None:
    (tmp_path / "payments").mkdir()
    (tmp_path / "payments" / "refunds.py").write_text(f'"""sandbox"""\n{planted}\n')

    assert len(found(tmp_path)) == 1
