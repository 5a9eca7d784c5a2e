"""The simulated bank with a wait before each answer: gunicorn runs it for the bench."""

import os
import time
from collections.abc import Iterable
from typing import Any

from testbank.wsgi import application as prompt_bank

SECONDS = float(os.environ.get("BENCH_BANK_SECONDS", "2"))


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Think about it for as long as a slow bank does, and only then write it down."""
    if environ["REQUEST_METHOD"] == "POST":
        time.sleep(SECONDS)
    return prompt_bank(environ, start_response)
