"""The base of every /v1 view: version, strict query, idempotent POSTs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
import structlog
from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from core import arrival
from core.errors import DomainError, ParameterInvalid
from core.rest import expansion, query
from core.rest import lists as list_engine
from core.rest.expansion import Expandable, Kinds, Shown
from core.rest.lists import ListSpec, Page
from core.rest.schema import Operation
from merchants import idempotency
from merchants.authentication import require_scope
from merchants.models import Merchant

log = structlog.get_logger(__name__)


class ApiVersionInvalid(DomainError):
    code = "api_version_invalid"
    message = "There is no such API version."
    param = "PF-Version"


class ApiViewSet(ViewSet):
    """A resource of the API, on behalf of the merchant whose key was sent.

    `scope` names the resource in a key's scopes; `lists` are the actions that answer a
    list, and what it knows; `expandable` are the fields that `expand[]` takes, and
    `kinds` the objects that they show; `operations` are what the API's schema says of
    the actions.
    """

    operations: Mapping[str, Operation] = {}
    scope: str | None = None
    lists: Mapping[str, ListSpec] = {}
    expandable: Expandable = {}
    kinds: Kinds = {}
    # Without OPTIONS, whose stock answer describes our classes.
    http_method_names = ["get", "post", "delete", "head"]

    request: Request

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.action is None:
            self.http_method_not_allowed(request)  # Before a body that nobody asked for is judged.
        self.api_version = _version(request)
        fields = self._fields_to_expand(request)
        if request.method == "POST":
            self.body = dict(request.data or {})
            fields += self._fields_to_expand_in_body()
        # Before a replay, which may show what another key of the merchant was allowed to see.
        self.expansion = self._expansion(fields)
        if request.method == "POST":
            # The body has come by now, and nothing has happened.
            arrival.require_client()
            self._claim(request)

    def _fields_to_expand(self, request: Request) -> list[str]:
        given = query.given(request.query_params)
        expand = query.array(given.pop("expand", []))
        # The list engine reads the rest of a list's, and refuses what it does not know.
        if self.action not in self.lists:
            for [unknown, *_] in given.values():
                raise unknown.refusal()
        return expand

    def _fields_to_expand_in_body(self) -> list[str]:
        is_asked = "expand" in self.body
        fields = _expand_of(self.body)
        if is_asked and not self.expandable:
            raise ParameterInvalid("Nothing can be expanded here.", param=expansion.PARAM)
        return fields

    def page_of(self, rows: QuerySet[Any], *, cursors: QuerySet[Any] | None = None) -> Page:
        """Return the page of rows that the request asks for; see `lists.page`."""
        spec = self.lists[self.action]
        asked = self.request.query_params
        return list_engine.page(rows, asked, spec, url=self.request.path, cursors=cursors)

    def _claim(self, request: Request) -> None:
        idempotency.begin(
            self.merchant,
            key=request.META.get("HTTP_IDEMPOTENCY_KEY"),
            method_and_path=f"POST {request.path}",
            body=request.data or {},
        )
        if idempotency.earlier():
            # What an earlier request with this key began is finished and never begun again.
            self.post = self.resume

    def resume(self, request: Request, **kwargs: str) -> Response:
        """Answer in the place of an earlier request that died; see `idempotency.earlier`.

        Every view that takes a POST says how.
        """
        raise NotImplementedError

    @property
    def merchant(self) -> Merchant:
        return self.request.user

    def _expansion(self, fields: Iterable[str]) -> expansion.Tree:
        if self.action in self.lists:
            # Of each object of the list, whichever of the two ways it is written.
            fields = [field.removeprefix("data.") for field in fields]
        asked = expansion.read(fields, self.expandable)
        for scope in sorted(asked.scopes):
            require_scope(self.request.auth, scope, "GET")
        return asked.tree

    def expanded(self, shown: list[Shown]) -> list[Shown]:
        """Return what is shown with whole objects in the place of the ids that were asked for."""
        expansion.expand(shown, self.expansion, self.kinds, self.merchant)
        return shown

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        if isinstance(exc, DomainError) and exc.is_lasting:
            response.data = orjson.dumps(response.data)
            with _told_all_the_same():
                idempotency.save_refusal(response.status_code, response.data)
        elif not isinstance(exc, idempotency.Replayed):
            with _told_all_the_same():
                idempotency.let_go()
        return response

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        if hasattr(self, "api_version"):
            response["PF-Version"] = self.api_version
        is_fresh = not response.has_header("Idempotent-Replayed")
        if request.method == "POST" and response.status_code == 200 and is_fresh:
            holds_secret = isinstance(response.data, dict) and "secret" in response.data
            response.data = orjson.dumps(response.data)
            with _told_all_the_same():
                response.data = idempotency.save_answer(
                    response.status_code, response.data, holds_secret=holds_secret
                )
        return super().finalize_response(request, response, *args, **kwargs)


@contextmanager
def _told_all_the_same() -> Iterator[None]:
    """Let the answer go out although its key's row cannot be written: what is done is done."""
    try:
        yield
    except DatabaseError:
        log.warning("answer not kept for replays", exc_info=True)


def _version(request: Request) -> str:
    asked = request.META.get("HTTP_PF_VERSION")
    if asked is None:
        return request.user.api_version
    if asked not in settings.API_VERSIONS:
        raise ApiVersionInvalid
    return asked


def _expand_of(body: dict[str, Any]) -> list[str]:
    fields = body.pop("expand", None)
    if fields is None:
        return []
    if not isinstance(fields, list) or not all(isinstance(field, str) for field in fields):
        raise ParameterInvalid("Must be an array of field names.", param="expand")
    return fields
