"""Writing answers: JSON by orjson, even if the client's Accept header asks for something else."""

from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer


class ApiRenderer(BaseRenderer):
    """Write a dict as JSON; bytes are JSON already (events, replayed answers)."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        if data is None:
            return b""
        return data if isinstance(data, bytes) else orjson.dumps(data)


class AlwaysJson(BaseContentNegotiation):
    """There is one format, so there is nothing to negotiate."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        content_type = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type
