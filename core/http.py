"""Between the web server and Django: request bodies that Django would misread or leave unread."""

import io
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings

DRAIN_MAX_BYTES = 4 * 1024 * 1024
DRAIN_STEP_BYTES = 64 * 1024

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


def with_whole_bodies(application: Application) -> Application:
    """Return the application with chunked bodies measured and unread ones thrown away.

    Django takes a body without a Content-Length for an empty one. And a client that
    still writes when we close never gets to read the answer (contract 4).
    """

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        wire = environ["wsgi.input"]
        if "HTTP_TRANSFER_ENCODING" in environ:
            body = wire.read(settings.BODY_MAX_BYTES + 1)
            environ["wsgi.input"] = io.BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))
        answer: Any = application(environ, start_response)
        try:
            _throw_away(wire)
        except BaseException:
            answer.close()  # The server closes only what it was given.
            raise
        return answer

    return serve


def _throw_away(wire: Any) -> None:
    left = DRAIN_MAX_BYTES
    while left > 0 and (chunk := wire.read(min(DRAIN_STEP_BYTES, left))):
        left -= len(chunk)
