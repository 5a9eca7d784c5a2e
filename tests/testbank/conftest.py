"""The bank's own tests wait for no silence of it."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _silence_is_short(settings: Any) -> None:
    settings.TESTBANK_SILENCE_SECONDS = 0
