"""The service's addresses, and some that hold their thread or tell how much time is left."""

import os
import time
from pathlib import Path

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
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
def much(request: HttpRequest) -> HttpResponse:
    """Answer more than any socket keeps."""
    log.info("held")
    return HttpResponse(b"x" * 50_000_000)


urlpatterns = [
    path("hold", hold), path("budget", budget), path("process", process),
    path("look", look), path("much", much),
    *urls.urlpatterns,
]  # fmt: skip
