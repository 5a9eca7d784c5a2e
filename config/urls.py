from django.contrib import admin
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from config import errors, pages
from core.errors import MethodNotAllowed
from payments import pages as payer


@csrf_exempt
def healthz(request: HttpRequest) -> HttpResponse:
    """Tell a load balancer that this process answers and reaches its database."""
    if request.method not in ("GET", "HEAD"):
        refused = errors.envelope_response(MethodNotAllowed())
        refused["Allow"] = "GET, HEAD"
        return refused
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})


v1 = [
    path("", include("ledger.urls")),
    path("", include("merchants.urls")),
    path("", include("payments.urls")),
    path("", include("webhooks.urls")),
]

urlpatterns = [
    path(pages.SCHEMA_PATH.removeprefix("/"), pages.openapi),
    path("v1/", include(v1)),
    path("3ds/return", payer.bank_return),
    path("3ds/<str:token>", payer.hand_off),
    path("healthz", healthz),
    path("docs/errors", pages.errors_page),
    path("admin/", admin.site.urls),
]

handler400 = errors.bad_request
handler403 = errors.permission_denied
handler404 = errors.not_found
handler500 = errors.server_error
