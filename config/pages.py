"""The front page, and the API's schema for programs."""

from functools import cache

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config import error_pages

SCHEMA = settings.BASE_DIR / "docs" / "openapi.json"
SCHEMA_PATH = "/v1/openapi.json"
HOUR_SECONDS = 3600
ABOUT = "A card payment service: merchants' backends take card payments here, over a REST API."


@csrf_exempt
@require_safe
def front_page(request: HttpRequest) -> HttpResponse:
    """Say what answers at this address, and where to go from here: to a person, or to a program."""
    places = {
        "documentation": f"{settings.DOCS_URL}/",
        "errors": f"{settings.DOCS_URL}/errors",
        "schema": settings.BASE_URL + SCHEMA_PATH,
        "panel": f"{settings.PANEL_URL}/panel/",
        "operators": f"{settings.PANEL_URL}/admin/",
        "health": f"{settings.BASE_URL}/healthz",
    }
    if error_pages.is_wanted(request):
        shown = {"places": places, "is_sandbox": not settings.LIVEMODE}
        # Without the request: the page needs no session and no database.
        response = HttpResponse(render_to_string("docs/front.html", shown))
    else:
        about = {"object": "service", "description": ABOUT, "livemode": settings.LIVEMODE}
        response = JsonResponse({**about, "api": f"{settings.BASE_URL}/v1", **places})
    patch_vary_headers(response, ["Accept"])
    return response


@csrf_exempt
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Answer the API's schema, without a key: it shows no more than the source does.

    It costs less than to look a key up, and so no rate limit counts it.
    """
    cached = {"Cache-Control": f"public, max-age={HOUR_SECONDS}"}
    return HttpResponse(_schema(), content_type="application/json", headers=cached)


@cache
def _schema() -> bytes:
    # With an address of its own, what imports it can send requests at once.
    here = {"url": settings.BASE_URL, "description": "This installation"}
    return orjson.dumps({**orjson.loads(SCHEMA.read_bytes()), "servers": [here]})
