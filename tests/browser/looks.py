"""The looks of a page: its language, theme and width.

At the short length each page is opened in one look, and each look has a share of the pages;
`./dev prove looks` opens each page in all of them.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.stage.lengths import IS_FULL, length

EVERY = list(product(("en", "tr"), ("light", "dark"), (1280, 390)))
OPPOSITE = [("en", "light", 1280), ("tr", "dark", 390)]


def in_every_look(test: Callable[..., Any]) -> Callable[..., Any]:
    """Run a test of many pages with every `language`, `theme` and `width`."""
    return _in_looks(EVERY)(test)


def in_opposite_looks(test: Callable[..., Any]) -> Callable[..., Any]:
    """Run a test of few pages with two looks; at the full length with every one."""
    return _in_looks(length(short=OPPOSITE, full=EVERY))(test)


def _in_looks(looks: list[tuple[str, str, int]]) -> Callable[..., Any]:
    spread = pytest.mark.parametrize(("language", "theme", "width"), looks)
    return lambda test: pytest.mark.proof(part="looks")(spread(test))


def share(pages: dict[str, str], *look: object, of: list[Any] = EVERY) -> dict[str, str]:
    """Return the pages that are opened in a look."""
    return pages if IS_FULL else dict([*pages.items()][of.index(look) :: len(of)])
