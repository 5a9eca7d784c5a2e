"""The looks of a page: its language, theme and width.

At the short length each two of them meet once; `./dev prove looks` takes all there are.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.stage.lengths import length

EVERY = list(product(("en", "tr"), ("light", "dark"), (1280, 390)))
EACH_TWO_MEET = [
    ("en", "light", 1280),
    ("en", "dark", 390),
    ("tr", "light", 390),
    ("tr", "dark", 1280),
]


def in_every_look(test: Callable[..., Any]) -> Callable[..., Any]:
    """Run a test of pages with every `language`, `theme` and `width`."""
    looks = length(short=EACH_TWO_MEET, full=EVERY)
    spread = pytest.mark.parametrize(("language", "theme", "width"), looks)
    return pytest.mark.proof(part="looks")(spread(test))
