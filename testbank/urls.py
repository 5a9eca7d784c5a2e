"""Addresses of the test bank's own process (testbank/wsgi.py); the service routes none of them."""

import sys

import structlog
from django.http import HttpRequest, HttpResponse
from django.urls import path

from testbank import acs, transfer_views, views
from testbank.garanti import views as garanti
from testbank.nestpay import views as nestpay
from testbank.refusals import refuse

log = structlog.get_logger(__name__)

urlpatterns = [
    path("authorizations", views.authorize),
    path("authorizations/<str:reference>", views.inquire),
    path("authorizations/<str:reference>/capture", views.capture),
    path("authorizations/<str:reference>/void", views.void),
    path("refunds", views.refund),
    path("refunds/<str:reference>", views.inquire_refund),
    path("notices", views.tell_notices),
    path("disputes/<str:reference>/evidence", views.take_evidence),
    path("disputes/<str:reference>/acceptance", views.take_acceptance),
    path("disputes/<str:reference>/end", views.take_end),
    path("authentications", views.authenticate),
    path("statement", views.statement),
    path("statement/refunds", views.statement_of_refunds),
    path("transfers", transfer_views.send),
    path("transfers/<str:reference>", transfer_views.inquire),
    path("transfer_notices", transfer_views.tell_notices),
    path("statement/transfers", transfer_views.statement),
    path("expected_transfers", transfer_views.expect),
    path("statement/incoming_transfers", transfer_views.statement_of_incoming),
    path("healthz", views.healthz),
    path("acs/<str:transaction_id>", acs.challenge),
    path("acs/<str:transaction_id>/decision", acs.decision),
    path("acs/<str:transaction_id>/answer", acs.answer),
    path("fim/api", nestpay.api),
    path("fim/est3Dgate", nestpay.enter_gate),
    path("VPServlet", garanti.api),
    path("servlet/gt3dengine", garanti.enter_gate),
]


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 400)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request, 404)


def handler500(request: HttpRequest) -> HttpResponse:
    # The class alone: a database's message prints what the row held.
    log.error("bank_failed", error=getattr(sys.exc_info()[0], "__name__", None))
    return refuse(request, 500)
