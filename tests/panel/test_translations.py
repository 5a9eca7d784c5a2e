"""The Turkish words: complete, in use, and the compiled file is the one that is read."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation.template import templatize

from devstack.state import ROOT

PO = ROOT / "locale" / "tr" / "LC_MESSAGES" / "django.po"
CALLS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
ROOMS = [
    "core", "merchants", "api", "audit", "cases", "panel", "payments", "webhooks", "config",
    "templates", "testbank",
]  # fmt: skip
# The operators' pages are English.
ENGLISH = [ROOT / "templates" / "admin", ROOT / "templates" / "desk", ROOT / "panel" / "operators"]
# The same in both languages.
ALIKE = {"Webhook", "API", "Net", "net"}
ENTRY = re.compile(
    r'^((?:#.*\n)*)msgid ((?:".*"\n)+)(?:msgid_plural ((?:".*"\n)+))?'
    r'((?:msgstr(?:\[\d\])? (?:".*"\n?)+)+)',
    re.M,
)
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|</?\w+>")


def entries() -> list[tuple[str, str, list[str]]]:
    """Return each message's comment, text and translations."""
    return [
        (comment, _text(one), [_text(part) for part in re.split(r"msgstr(?:\[\d\])? ", last)[1:]])
        for comment, one, _plural, last in ENTRY.findall(PO.read_text())
        if _text(one)
    ]


def _text(quoted: str) -> str:
    return "".join(ast.literal_eval(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', quoted))


def used(rooms: list[Path]) -> set[str]:
    """Return the messages that programs and templates show."""
    found: set[str] = set()
    for file in _files(rooms):
        text = file.read_text()
        program = text if file.suffix == ".py" else templatize(text, origin=str(file))
        found.update(_in_program(program) if file.suffix == ".py" else _in_template(program))
    return found


def _files(rooms: list[Path]) -> Iterator[Path]:
    for room in rooms:
        for file in room.rglob("*"):
            if file.suffix in (".py", ".html", ".txt") and not any(
                file.is_relative_to(place) for place in ENGLISH
            ):
                yield file


def _in_program(program: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(program)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text)), *_]):
                if name in CALLS:
                    yield text


def _in_template(program: str) -> Iterator[str]:
    literal = r"""u?((?:'(?:[^'\\]|\\.)*')|(?:"(?:[^"\\]|\\.)*"))"""
    for quoted in re.findall(rf"(?:gettext|_)\(\s*{literal}", program):
        yield ast.literal_eval(quoted)


def test_every_message_is_translated_and_none_is_doubtful() -> None:
    wrong = [text for comment, text, said in entries() if not all(said) or "fuzzy" in comment]

    assert wrong == []
    assert len(entries()) > 100


def test_the_messages_are_those_that_are_shown() -> None:
    shown, listed = used([ROOT / room for room in ROOMS]), {text for _, text, _ in entries()}

    assert shown - listed == set(), "not in the .po"
    assert listed - shown == set(), "not in use"


def test_no_message_is_left_in_english() -> None:
    alike = {text for _, text, said in entries() if text in said}

    assert alike == ALIKE & {text for _, text, _ in entries()}


def test_placeholders_are_the_same() -> None:
    def of(text: str) -> list[str]:
        return sorted(PLACEHOLDER.findall(text))

    assert [text for _, text, said in entries() if any(of(one) != of(text) for one in said)] == []


def test_the_compiled_file_is_its_source() -> None:
    with PO.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    texts = {key: said for key, said in compiled.items() if key and isinstance(key, str)}

    assert texts == {text: said[0] for _, text, said in entries() if len(said) == 1}


def test_a_message_that_nobody_translated_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('{% load i18n %}{% translate "Planted words" %}')
    (tmp_path / "page.py").write_text('print(_("More planted words"))')

    listed = {text for _, text, _ in entries()}

    assert used([tmp_path]) - listed == {"Planted words", "More planted words"}
