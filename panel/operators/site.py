from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, URLResolver, include, path, reverse

from core import acts, context
from core.context import ActorKind
from core.detection import contains_encoded_card_number
from panel.operators import desk
from panel.operators.sections import SECTIONS

Page = TypeVar("Page", bound=Callable[..., Any])


class OperatorsSite(AdminSite):
    """The operators' admin, `/admin/`, with the desk below it; they sign in where all others do."""

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Return the pages of the desk, and then Django's own, which end with one for all."""
        pages = [
            path(str(one.pattern), self.admin_view(one.callback), name=one.name)
            for section in SECTIONS
            for one in section.pages
        ]
        tables = path("tables/", self.admin_view(self.tables), name="tables")
        return [path("desk/", include(pages)), tables, *super().get_urls()]

    # Our own pages are no templates of Django's.
    def index(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what waits for operators; to those who may not see it the tables that they read."""
        first = SECTIONS[0]
        if request.user.has_perm(first.permission):
            return first.pages[0].callback(request)
        return self.tables(request)

    def tables(self, request: HttpRequest) -> HttpResponse:
        """Show all tables of rows: Django's own first page."""
        return super().index(request)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what each page shows: the desk's navigation too."""
        return {**super().each_context(request), "desk_links": desk.links(SECTIONS, request)}

    def admin_view(self, view: Page, cacheable: bool = False) -> Page:
        """Return the page as those may open it who are signed in; what it does is done by them.

        Django's own pages have no door that asks for a proof, so whatever is sent to them is asked
        for here. Only the way out is free.
        """
        is_free = acts.door_of(view) is not None or view == self.logout
        proved = view if is_free else acts.proof_required(view)

        @wraps(view)
        def page(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if request.user.is_authenticated:
                user = request.user
                context.act_as(ActorKind.OPERATOR, str(user.pk), user.get_username())
            opened = view if request.method in acts.SAFE else proved
            return opened(request, *args, **kwargs)

        # Django asks for the permission first, and shows the sign-in to others.
        return cast(Page, super().admin_view(page, cacheable))

    # Each is a redirect; the stubs of Django's own allow only pages.
    def login(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        index = reverse("admin:index", current_app=self.name)
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied
        wanted = request.GET.get("next", index)
        # The page of the sign-in repeats it.
        return redirect_to_login(index if contains_encoded_card_number(wanted) else wanted)

    def logout(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        return _same_method("account_logout")

    def password_change(  # type: ignore[override]
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        return redirect("account_change_password")


def _same_method(name: str) -> HttpResponseBase:
    # A form that was sent is sent on: 307 keeps the method, and its token is the same.
    response = HttpResponseRedirect(reverse(name))
    response.status_code = 307
    return response
