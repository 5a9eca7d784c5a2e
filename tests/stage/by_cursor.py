"""Runs with `LIBPQ_CALLS=false`, in which psycopg's cursor sends the kept statements."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from core import prepared
from tests.stage.lengths import tried


@contextmanager
def counted() -> Iterator[None]:
    """Count the statements that a cursor sends, each text once; `./dev prove` wants some."""
    texts: set[str] = set()

    class Counted(prepared.CursorCall):
        def execute(self, query: str, values: Mapping[str, Any]) -> None:
            texts.add(query)
            super().execute(query, values)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(prepared, "CursorCall", Counted)
        yield
    if texts:
        tried(len(texts), "statements by the cursor")
