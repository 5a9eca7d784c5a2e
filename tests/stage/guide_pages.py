"""Pages of operators as they are followed: their commands, by the step that they stand below."""

import re

from devstack.state import ROOT

STEPS = re.compile(r"^#{2,3} ([^\n]+)\n(.*?)(?=^#{2,3} |\Z)", re.S | re.M)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)


def commands(name: str, *, language: str = "sh") -> dict[str, list[str]]:
    """Return the blocks of a page of `docs/operate` by the heading above each; a later one counts.

    :param language: of the blocks.
    """
    text = (ROOT / f"docs/operate/{name}.md").read_text()
    return {
        heading: [block for of, block in BLOCK.findall(body) if of == language]
        for heading, body in STEPS.findall(text)
    }
