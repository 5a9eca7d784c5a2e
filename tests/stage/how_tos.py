"""The samples of how-tos that say that a test runs them, run in the order of their page."""

import contextlib
import io
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

from tests.stage.page_programs import differences, interpreter

OPENING = re.compile(r"^ *```(\w+)$")
MARK = "<!-- run by a test -->"
UNTRIED = "No test runs this"
RUN_LANGUAGES = {"sh", "python", "js"}
IDS = re.compile(r'"([a-z]+)_(\w{24,})"')


@dataclass
class Sample:
    """A block of a page.

    :param before: the paragraph above it, which may say that no test runs it.
    :param shown: the text below it, if it says what is seen.
    """

    language: str
    before: str
    code: str
    shown: str | None = None

    @property
    def is_marked(self) -> bool:
        return self.before.endswith(MARK)


def samples(page: str) -> list[Sample]:
    """Return the programs of a page, each with the output that is shown behind it."""
    found: list[Sample] = []
    for block in _blocks(page):
        if block.language in ("text", "json"):
            found[-1].shown = block.code
        else:
            found.append(block)
    return found


def unexplained(page: str) -> list[str]:
    """Return the first lines of samples that no test runs and that do not say so."""
    return [
        one.code.partition("\n")[0]
        for one in samples(page)
        if not one.is_marked and UNTRIED not in one.before
    ]


def _blocks(page: str) -> Iterator[Sample]:
    lines, prose = iter(page.splitlines()), [""]
    for line in lines:
        if not (opening := OPENING.match(line)):
            prose.append(line.strip())
            continue
        code = []
        while (inside := next(lines)).strip() != "```":
            code.append(f"{inside}\n")
        above = "\n".join(prose).rstrip().rpartition("\n\n")[2]
        yield Sample(opening[1], above, dedent("".join(code)))
        prose = [""]


@dataclass
class Reader:
    """A reader of one page: puts address and key into its samples, and remembers the ids.

    :param told: texts of the page, and what stands for them at this service.
    """

    told: dict[str, str]
    directory: Path
    ids: dict[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)

    def run(self, sample: Sample) -> str:
        """Run it as it is shown; return what it printed.

        :raises AssertionError: it failed, or printed something else than is shown.
        """
        code = self._filled(sample.code)
        said = {"python": self._python, "sh": self._shell, "js": self._node}[sample.language](code)
        self.ids.update(IDS.findall(said))
        if sample.language == "sh":
            shown = json.loads(sample.shown) if sample.shown else {}
            answer = json.loads(said)
            assert "error" not in answer or "error" in shown, said
            assert _has(answer, shown), said
        elif sample.shown is not None:
            wrong = differences(said, [sample.shown])
            assert not wrong, wrong
        return said

    def _filled(self, code: str) -> str:
        for shown, real in self.told.items():
            code = code.replace(shown, real)
        for prefix, rest in self.ids.items():
            code = re.sub(rf"\b{prefix}_…", f"{prefix}_{rest}", code)
        assert "…" not in code, code
        return code

    def _python(self, code: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(code, self.names)  # noqa: S102
        objects = [one for one in self.names.values() if isinstance(one, dict)]
        for one in objects:
            self.ids.update(IDS.findall(f'"{one.get("id")}"'))
        return said.getvalue()

    def _shell(self, code: str) -> str:
        return self._said_by("sh", "-c", code)

    def _node(self, code: str) -> str:
        file = self.directory / "sample.mjs"
        file.write_text(code)
        return self._said_by(*interpreter("js"), str(file))

    def _said_by(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _has(answer: Any, shown: Any) -> bool:
    """Tell whether an answer has all that is shown of it; `…` stands for anything."""
    if isinstance(shown, dict) and isinstance(answer, dict):
        told = {name: value for name, value in shown.items() if name != "…"}
        return all(name in answer and _has(answer[name], value) for name, value in told.items())
    return shown in ("…", answer)
