"""A proxy before the service, which answers in this process: it may change what passes."""

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from django.test import Client
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPResponse

from payments.checkout.page_check import Answered


class Proxy(BaseAdapter):
    """Passes requests on to the service.

    `changes` has, by the beginning of a path, a change of its answers. `seen_by_pages` is all that
    requests to pages have told.
    """

    def __init__(self) -> None:
        super().__init__()
        self.changes: Mapping[str, Callable[[Answered], Answered]] = {}
        self.seen_by_pages = ""

    def send(self, request: requests.PreparedRequest, **_how: Any) -> requests.Response:
        path = urlsplit(str(request.url)).path
        if not path.startswith("/v1/"):
            self.seen_by_pages += str(request.headers)
        sent = {name: value for name, value in request.headers.items() if name != "Content-Length"}
        given = Client().generic(
            str(request.method), path, request.body or b"", sent.pop("Content-Type", ""),
            headers=sent,
        )  # fmt: skip
        body = b"".join(given) if given.streaming else given.content  # type: ignore[attr-defined]
        given.close()
        answer = Answered(given.status_code, dict(given.items()), body)
        for start, change in self.changes.items():
            if path.startswith(start):
                answer = change(answer)
        return _response(request, answer)

    def close(self) -> None:
        pass


def stand_before_the_service(patch: pytest.MonkeyPatch) -> Proxy:
    """Let all that `requests` sends pass through one proxy; return it."""
    proxy = Proxy()
    get: Callable[..., BaseAdapter] = lambda *_args, **_how: proxy  # noqa: E731
    patch.setattr(requests.Session, "get_adapter", get)
    return proxy


def _response(request: requests.PreparedRequest, answer: Answered) -> requests.Response:
    length = {"Content-Length": str(len(answer.body))}
    answer = answer._replace(headers={**answer.headers, **length})
    raw = HTTPResponse(
        body=BytesIO(answer.body), headers=answer.headers, status=answer.status,
        preload_content=False,
    )  # fmt: skip
    response = HTTPAdapter().build_response(request, raw)
    response.headers = CaseInsensitiveDict(answer.headers)
    return response
