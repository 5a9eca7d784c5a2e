"""Pages of operators that take a form of anybody, planted beside the service's own."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from config import urls

handler400, handler403, handler404, handler500 = (
    urls.handler400, urls.handler403, urls.handler404, urls.handler500,
)  # fmt: skip


def act(_request: HttpRequest, **_arguments: Any) -> HttpResponse:
    """Do whatever is asked: the fault, unless somebody stands before it."""
    return HttpResponse("done")


planted = [
    path("planted/outside/", act, name="planted_outside"),
    path("planted/inside/", admin.site.admin_view(act), name="planted_inside"),
]
urlpatterns = [path("admin/", include(planted)), *urls.urlpatterns]
