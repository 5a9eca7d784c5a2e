"""The page of all settings: .env.example, as a table per group."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from django.conf import settings

from docsite.reference import markdown

PATH = settings.BASE_DIR / ".env.example"
TOP = """\
# Settings

Every setting is a variable of the environment. `.env.example` lists them too. What is marked with
*Set it* has an example in the last column, and others their default.
"""
GROUP = re.compile(r"^# --- (.+?) -+$")
VARIABLE = re.compile(r"^(# )?([A-Z][A-Z_]+)=(\S*)(?: {2,}(.+))?$")
# In the group of ./dev several variables share a line, and their meaning goes on below it.
SEVERAL = re.compile(r"^# ([A-Z][A-Z_]+(?:, [A-Z][A-Z_]+)*) {2,}(.+)$")
CONTINUED = re.compile(r"^# {6,}(\S.*)$")
# `https://pay.example`, `/admin/`, `./dev`, `<payments@pay.example>`, outside of code.
ADDRESS = re.compile(
    r"(?<![`\w/.])(?:<[^>]+>|[a-z+]+:/{2,4}(?:[^\s,;)]*[^\s,;).:])?|\.?/\w(?:[^\s,;)]*[^\s,;).:])?)"
)


class Setting(NamedTuple):
    """A variable of the environment.

    :param value: its default, or an example of one that has to be set.
    :param is_set: whether the example file sets it, and an installation has to.
    """

    group: str
    name: str
    meaning: str
    value: str
    is_set: bool


def listed() -> list[Setting]:
    """Return the settings of .env.example, in its order."""
    return list(_read(_lines()))


def _lines() -> list[str]:
    return PATH.read_text().splitlines()


def default(name: str) -> str:
    """Return the value that the example file has for a setting.

    :raises KeyError: there is no such setting.
    """
    return {one.name: one.value for one in listed()}[name]


def _read(lines: list[str]) -> Iterator[Setting]:
    group = ""
    comment: list[str] = []
    for index, line in enumerate(lines):
        if found := GROUP.match(line):
            group, comment = found[1], []
        elif found := VARIABLE.match(line):
            said = " ".join(comment) or found[4] or ""
            yield Setting(group, found[2], said, found[3], not found[1])
            comment = []
        elif found := SEVERAL.match(line):
            meaning = " ".join([found[2], *_continued(lines[index + 1 :])])
            yield from (Setting(group, name, meaning, "", False) for name in found[1].split(", "))
        elif not line:
            comment = []
        elif not CONTINUED.match(line):
            comment.append(line.removeprefix("# "))


def _continued(lines: list[str]) -> Iterator[str]:
    for line in lines:
        found = CONTINUED.match(line)
        if not found:
            return
        yield found[1]


def page() -> str:
    """Return the page.

    :raises ValueError: a setting has no comment.
    """
    groups: dict[str, list[Setting]] = {}
    for one in listed():
        if not one.meaning:
            raise ValueError(f"{one.name} has no comment in .env.example.")
        groups.setdefault(one.group, []).append(one)
    parts = [f"## {name}\n\n{_table(rows)}" for name, rows in groups.items()]
    return "\n".join([TOP, *parts])


def _table(rows: list[Setting]) -> str:
    return markdown.table(
        ("setting", "meaning", "default or example"),
        [
            (
                f"`{one.name}`",
                _sentence(one.meaning) + (" *Set it.*" if one.is_set else ""),
                f"`{one.value}`" if one.value else "",
            )
            for one in rows
        ],
    )


def _sentence(text: str) -> str:
    """Return a comment as a cell: addresses and programs are code, so that none becomes a link."""
    text = ADDRESS.sub(lambda found: f"`{found[0]}`", text)
    return text[0].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text
