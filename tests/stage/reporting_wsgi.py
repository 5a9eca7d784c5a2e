"""The web process' application, and before it an error that each request leaves in the log."""

import logging
from typing import Any

from config.wsgi import application as ours


def application(environ: Any, start_response: Any) -> Any:
    logging.getLogger("ours").error("it_is_lost")
    return ours(environ, start_response)
