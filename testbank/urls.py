"""Addresses of the test bank's own process (testbank/wsgi.py); the service routes none of them."""

import sys

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

from testbank import views

log = structlog.get_logger(__name__)

urlpatterns = [
    path("authorizations", views.authorizations),
    path("authorizations/<str:reference>", views.inquiry),
    path("statement", views.statement),
    path("healthz", views.healthz),
]


def handler400(_request: HttpRequest, exception: Exception) -> HttpResponse:
    return JsonResponse({"error": "bad request"}, status=400)


def handler404(_request: HttpRequest, exception: Exception) -> HttpResponse:
    return JsonResponse({"error": "not found"}, status=404)


def handler500(_request: HttpRequest) -> HttpResponse:
    # The class alone: a database's message prints what the row held.
    log.error("bank_failed", error=getattr(sys.exc_info()[0], "__name__", None))
    return JsonResponse({"error": "the bank failed"}, status=500)
