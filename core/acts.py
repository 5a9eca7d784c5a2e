"""The one door before each page of operators: of the desk, of their tables, of the sandbox's bank.

It asks for the permission, then for the method, and where something can be done, also for a proof
that it is the operator (docs/operate/desk.md). The proof is as old as
`ACCOUNT_REAUTHENTICATION_TIMEOUT` at most; a person with a second factor gives it by that
(`panel.account`). A form that is sent too late leads to the proof and back to the
form, and nothing of it is kept.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, NamedTuple

from allauth.account.decorators import reauthentication_required
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

View = Callable[..., HttpResponse]
METHODS = frozenset(("GET", "POST"))
# They change nothing, by whatever page.
SAFE = frozenset(("GET", "HEAD", "OPTIONS"))

# Below a door; also at pages that have none, of those who send something there.
proof_required: Callable[[View], View] = reauthentication_required


class Door(NamedTuple):
    """The one way into a page.

    :param permission: `app.codename`; without it the page is 403, and is not in the navigation.
    :param methods: of GET and POST; HEAD comes with GET.
    """

    permission: str
    methods: frozenset[str]

    @property
    def is_act(self) -> bool:
        """Return whether something can be done by the page, so that it asks for a proof."""
        return "POST" in self.methods

    @property
    def answered(self) -> frozenset[str]:
        """Return all methods that are not 405."""
        return self.methods | ({"HEAD"} if "GET" in self.methods else set())


def page(permission: str, *, methods: Iterable[str] = ("GET",)) -> Callable[[View], View]:
    """Put the door before a page.

    :param permission: `app.codename` of the permission that opens it.
    :param methods: all methods that it answers, of GET and POST.
    """
    door = Door(permission, frozenset(methods))
    if not door.methods <= METHODS or "." not in permission:
        raise ImproperlyConfigured(f"A page of operators cannot have {door}.")

    def decorate(view: View) -> View:
        proved = proof_required(view) if door.is_act else view

        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.has_perm(permission):
                raise PermissionDenied
            if request.method not in door.answered:
                return HttpResponseNotAllowed(sorted(door.answered))
            return proved(request, *args, **kwargs)

        guarded.door = door  # type: ignore[attr-defined]  # Read by `door_of`.
        return guarded

    return decorate


def act(permission: str) -> Callable[[View], View]:
    """Put the door before the page of an act, with its form."""
    return page(permission, methods=METHODS)


def door_of(view: Any) -> Door | None:
    """Return the door of a page, also of a wrapped one; None for a function that has none."""
    return getattr(view, "door", None)
