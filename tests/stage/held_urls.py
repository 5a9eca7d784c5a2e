"""The service's addresses, and some that hold their thread or tell how much time is left."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from config import urls
from core import arrival, context

handler400, handler403, handler404, handler500 = (
    urls.handler400, urls.handler403, urls.handler404, urls.handler500,
)  # fmt: skip

GIVE_UP_SECONDS = 60
log = structlog.get_logger(__name__)


@csrf_exempt
def hold(request: HttpRequest) -> HttpResponse:
    """Hold the thread until the file that the request names is there."""
    log.info("held")
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not Path(request.GET["until"]).exists():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.01)
    return JsonResponse({"held": True})


@csrf_exempt
def budget(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"seconds": context.remaining_seconds()})


def process(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"pid": os.getpid()})


@csrf_exempt
def look(request: HttpRequest) -> HttpResponse:
    """Hold the thread, and look again whether the client is there when it is let go."""
    answer = hold(request)
    log.info("looked")
    arrival.require_client()
    log.info("went_on")
    return answer


@csrf_exempt
def much(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Answer more than any socket keeps."""
    log.info("held")
    pieces = [b"x" * 1_000_000] * 50
    if "streamed" in request.GET:
        return StreamingHttpResponse(pieces)
    return HttpResponse(b"".join(pieces))


@csrf_exempt
def stream(request: HttpRequest) -> StreamingHttpResponse:
    """Answer one small piece after the other, until the file that the request names is there."""
    log.info("held")
    return StreamingHttpResponse(_pieces(Path(request.GET["until"])))


def _pieces(until: Path) -> Iterator[bytes]:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not until.exists() and time.monotonic() < deadline:
        yield b"more, "
        time.sleep(0.01)
    yield b"end"


urlpatterns = [
    path("hold", hold), path("budget", budget), path("process", process),
    path("look", look), path("much", much), path("stream", stream),
    *urls.urlpatterns,
]  # fmt: skip
