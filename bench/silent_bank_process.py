"""The simulated bank that answers authorisations alone: gunicorn runs it for the bench of doubt."""

import time
from collections.abc import Iterable
from typing import Any

from testbank.wsgi import application as prompt_bank

# Longer than the service waits; the answer comes to nobody.
SILENCE_SECONDS = 6.0
ANSWERED = ("/authorizations", "/healthz")


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Keep whoever inquires, captures or voids waiting, and answer nothing in time."""
    if environ["PATH_INFO"] not in ANSWERED:
        time.sleep(SILENCE_SECONDS)
    return prompt_bank(environ, start_response)
