"""Addresses of the test bank's own process (testbank/wsgi.py); the service routes none of them."""

import sys

import structlog
from django.http import HttpRequest, HttpResponse
from django.urls import path

from testbank import views
from testbank.refusals import refuse

log = structlog.get_logger(__name__)

urlpatterns = [
    path("authorizations", views.authorize),
    path("authorizations/<str:reference>", views.inquire),
    path("authorizations/<str:reference>/capture", views.capture),
    path("authorizations/<str:reference>/void", views.void),
    path("statement", views.statement),
    path("healthz", views.healthz),
]


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(400)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(404)


def handler500(request: HttpRequest) -> HttpResponse:
    # The class alone: a database's message prints what the row held.
    log.error("bank_failed", error=getattr(sys.exc_info()[0], "__name__", None))
    return refuse(500)
