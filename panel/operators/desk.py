"""The frame of the desk, the operators' own pages below `/admin/`.

A page is a function under `page`, which names the permission that opens it and its methods, and
asks for a proof if it takes a POST (`core.acts`). A section is a link in the navigation with its
pages; `panel.operators.sections` lists them all, and the admin site wraps each page as it does its
own: signed-in operators only, a token in each form, nothing kept by browsers
(docs/operate/desk.md).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, cast

from django.contrib import admin
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse

from core import acts
from core.acts import View, door_of
from core.errors import DomainError
from merchants.models import User
from panel.operators.forms import DeskForm

# Pages above a page, each with its address.
Trail = Sequence[tuple[str, str]]
HOME = "index"


def page(permission: str, *, methods: Iterable[str] = ("GET",)) -> Callable[[View], View]:
    """Make a function a page of the desk; a `DomainError` that escapes it is shown as a page.

    :param permission: `app.codename` of the permission that opens it.
    :param methods: all methods that it answers, of GET and POST.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def told(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, *args, **kwargs)
            except DomainError as refusal:
                return refused(request, refusal)

        return acts.page(permission, methods=methods)(told)

    return decorate


@dataclass(frozen=True, slots=True)
class Section:
    """A link in the navigation, and the pages behind it; it leads to the first of them.

    :param pages: `path("merchants/", listed, name="desk_merchants")`, below `/admin/desk/`.
    """

    name: str
    pages: Sequence[URLPattern]

    def __post_init__(self) -> None:
        for one in self.pages:
            if door_of(one.callback) is None:
                raise ImproperlyConfigured(f"{one.name} of the desk names no permission.")

    @property
    def permission(self) -> str:
        door = door_of(self.pages[0].callback)
        assert door  # noqa: S101  # Of each page, or there were no section.
        return door.permission


class SectionLink(NamedTuple):
    """A section as the navigation shows it."""

    name: str
    url: str
    is_current: bool


def links(sections: Sequence[Section], request: HttpRequest) -> list[SectionLink]:
    """Return the navigation of a person: only sections that they may open.

    The first of them is at home: `/admin/` shows its first page.
    """
    may = request.user.has_perm if request.user.is_active and request.user.is_staff else _nothing
    match = request.resolver_match
    current = match.url_name if match else None
    if current == HOME:
        current = sections[0].pages[0].name
    return [
        SectionLink(one.name, address(one.pages[0].name), any(p.name == current for p in one.pages))
        for one in sections
        if may(one.permission)
    ]


# --- Answers ----------------------------------------------------------------------------------


def show(
    request: HttpRequest, template: str, title: str, status: int = 200, **shown: Any
) -> HttpResponse:
    """Answer a page: a template that extends `desk/base.html`."""
    context = {
        **admin.site.each_context(request),
        "is_nav_sidebar_enabled": False,
        "title": title,
        **shown,
    }
    return TemplateResponse(request, template, context, status=status).render()


def sent(request: HttpRequest) -> QueryDict | None:
    """Return the fields of a form that was sent; None where a page is opened."""
    return request.POST if request.method == "POST" else None


def ask(
    request: HttpRequest,
    form: DeskForm,
    title: str,
    trail: Trail,
    *,
    template: str = "desk/act.html",
    **shown: Any,
) -> HttpResponse:
    """Answer the page of an act: its form as it was opened, or as it was refused.

    :param trail: the pages above it; Cancel leads to the last one.
    """
    status = form.refused_status if form.is_bound else 200
    shown = {"form": form, "trail": trail, "back": trail[-1][1], **shown}
    return show(request, template, title, status, **shown)


def refused(request: HttpRequest, refusal: DomainError) -> HttpResponse:
    """Show a refusal as a page, with the status that the API would give it."""
    title = "There is no such thing" if refusal.http_status == 404 else "That cannot be done"
    return show(request, "desk/refused.html", title, refusal.http_status, refusal=refusal.text)


def see_other(name: str, *arguments: Any) -> HttpResponse:
    """Answer a POST that was done: 303 to a page of the desk."""
    return HttpResponse(status=303, headers={"Location": address(name, *arguments)})


def operator(request: HttpRequest) -> User:
    """Return the person at the desk."""
    return cast(User, request.user)


def address(name: str | None, *arguments: Any) -> str:
    """Return the address of a page by its name."""
    return reverse(f"admin:{name}", args=arguments)


def _nothing(_permission: str) -> bool:
    return False
