"""The receivers of the webhooks guide, which tests run, for the pages that show a secret."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

GUIDE = Path(settings.BASE_DIR) / "docs" / "webhooks.md"
CHAPTER = "\n## A receiver\n"
PROGRAM = re.compile(r"^### (?P<name>.+)\n(?:(?!^###).*\n)*?```\w+\n(?P<code>(?:.*\n)*?)```$", re.M)


class Receiver(NamedTuple):
    """A whole program that takes deliveries and checks their signatures.

    :param name: of its language, as the guide's heading says it.
    """

    name: str
    code: str


@cache
def receivers() -> tuple[Receiver, ...]:
    """Return the guide's programs, in its order."""
    chapter = GUIDE.read_text().partition(CHAPTER)[2]
    return tuple(Receiver(one["name"], one["code"]) for one in PROGRAM.finditer(chapter))
