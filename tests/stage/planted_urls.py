"""The service's addresses, and a page of the panel that nobody gave a row in the table of roles."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from config import urls
from merchants.models import Member
from panel.merchants.pages import page

handler400, handler403, handler404, handler500 = (
    urls.handler400, urls.handler403, urls.handler404, urls.handler500,
)  # fmt: skip


@page()
def planted(request: HttpRequest, member: Member) -> HttpResponse:
    return HttpResponse("a secret")


PAGES = [path("<str:merchant>/planted", planted, name="planted")]
urlpatterns = [path("panel/", include((PAGES, "planted"))), *urls.urlpatterns]
