"""The service's addresses, and pages of the panel that are wrong, each in a way of its own."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, include, path

from config import urls
from merchants.models import ApiKey, Member
from panel.merchants.pages import page
from panel.permissions import Right, Rights

handler400, handler403, handler404, handler500 = (
    urls.handler400, urls.handler403, urls.handler404, urls.handler500,
)  # fmt: skip


@page()
def planted(request: HttpRequest, member: Member) -> HttpResponse:
    return HttpResponse("a secret")


@page()
def forgetful(request: HttpRequest, member: Member, key: str) -> HttpResponse:
    """Show a key of any merchant's: the fault."""
    return HttpResponse(get_object_or_404(ApiKey, pk=key).name)


@page()
def curious(request: HttpRequest, member: Member) -> HttpResponse:
    """Show a key of any merchant's that the query names: the fault."""
    found = ApiKey.objects.filter(pk=request.GET.get("api_key")).first()
    return HttpResponse(found.name if found else "No key.")


@page("POST")
def unguarded(request: HttpRequest, member: Member) -> HttpResponse:
    """Show a form without its tokens, and take it from anybody: the fault."""
    return HttpResponse('<form method="post"><button>Go</button></form>')


unguarded.csrf_exempt = True  # type: ignore[attr-defined]  # The decorator would not reach it.


@page()
def styled(request: HttpRequest, member: Member) -> HttpResponse:
    """Show styles and scripts that the policy refuses: the fault."""
    return HttpResponse('<style>p {}</style><p style="color: red" onclick="x()">x</p>')


@page()
def open_text(request: HttpRequest, member: Member) -> HttpResponse:
    """Write a text of a merchant's into the page as it is: the fault."""
    return HttpResponse(f"<p>{member.merchant.api_keys.order_by('pk')[0].name}</p>")


# No row of the table of roles has its name.
PAGES = [path("<str:merchant>/planted", planted, name="planted")]
WRONG: list[URLPattern] = [
    path("<str:merchant>/forgetful/<str:key>", forgetful, name="forgetful"),
    path("<str:merchant>/curious", curious, name="curious"),
    path("<str:merchant>/unguarded", unguarded, name="unguarded"),
    path("<str:merchant>/styled", styled, name="styled"),
    path("<str:merchant>/open_text", open_text, name="open_text"),
]
ROWS = {str(one.name): Rights(Right.SEE) for one in WRONG} | {
    "unguarded": Rights(Right.SEE, Right.SEE)
}
urlpatterns = [path("panel/", include(([*PAGES, *WRONG], "planted"))), *urls.urlpatterns]
