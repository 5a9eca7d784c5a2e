from django.contrib import admin
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path

from config import errors, pages


def healthz(_request: HttpRequest) -> HttpResponse:
    """Tell a load balancer that this process answers and reaches its database."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except OperationalError as problem:
        return errors.envelope_response(errors.as_refusal(problem))
    return JsonResponse({"status": "ok"})


v1 = [
    path("", include("ledger.urls")),
    path("", include("merchants.urls")),
    path("", include("payments.urls")),
    path("", include("webhooks.urls")),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("healthz", healthz),
    path("docs/errors", pages.errors_page),
    path("admin/", admin.site.urls),
]

handler400 = errors.bad_request
handler403 = errors.permission_denied
handler404 = errors.not_found
handler500 = errors.server_error
