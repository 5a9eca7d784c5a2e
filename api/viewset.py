"""The base of every /v1 view: version, strict query, idempotent POSTs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import orjson
import structlog
from django.conf import settings
from django.db import DatabaseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from api import idempotency
from api.authentication import key_of, may, merchant_of, require_scope
from api.idempotency import Earlier
from core import arrival, clock, standby
from core.errors import DomainError, Explained, ParameterInvalid, ResourceMissing
from core.folding import trimmed
from core.querysets import MerchantRows
from core.rest import expansion, query, resources
from core.rest.expansion import Expandable, Shown
from core.rest.filters import Filters
from core.rest.forms import Form
from core.rest.lists import Listing, ListSpec
from core.rest.pagination import CursorPagination, ListFilters
from core.rest.schema import Operation
from merchants.models import ApiKey, Merchant

log = structlog.get_logger(__name__)


class ApiVersionInvalid(DomainError):
    explained = Explained(
        cause="The `PF-Version` header names a version that this installation does not have.",
        remedy=(
            "Leave the header out: then your account's version applies. The reference of headers "
            "lists the versions."
        ),
    )
    code = "api_version_invalid"
    message = "There is no such API version."
    param = "PF-Version"


class ApiViewSet(GenericViewSet[Any]):
    """A resource of the API, on behalf of the merchant whose key was sent.

    `scope` names the resource in a key's scopes; `lists` are the actions that answer a
    list, and what it knows; `queries` are the actions that take other parameters, and the forms
    that read them into `asked`; `shows` are the kinds of objects whose fields
    `expand[]` takes; `operations` are what the API's schema says of the actions.
    """

    operations: Mapping[str, Operation] = {}
    scope: str | None = None
    lists: Mapping[str, ListSpec] = {}
    queries: Mapping[str, type[Form]] = {}
    asked: Mapping[str, Any] = {}
    listing: Listing
    filter_backends = [ListFilters]
    pagination_class = CursorPagination
    shows: tuple[str, ...] = ()
    # Without OPTIONS, whose stock answer describes our classes.
    http_method_names = ["get", "post", "delete", "head"]

    request: Request

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if self.action is None:
            self.http_method_not_allowed(request)  # Before its body is read.
        self.api_version = _version(request)
        _refuse_nul(kwargs.values())
        self.fields_in_query = fields = self._fields_to_expand(request)
        if request.method == "POST":
            self.body = dict(request.data or {})
            fields = [*fields, *self._fields_to_expand_in_body()]
        # Before a replay, which may show what another key of the merchant was allowed to see.
        self.expansion = self._expansion(fields)
        if self.action in self.lists:
            self.get = self.head = partial(self._read, getattr(self, self.action))
        if request.method == "POST":
            # The body has come by now, and nothing has happened.
            arrival.require_client()
            self._claim(request)
            # An earlier request with this key began its work: it is finished, never begun again.
            self.post = self.resume if idempotency.earlier() else getattr(self, self.action)

    def _read(self, action: Callable[..., Response], *args: Any, **kwargs: Any) -> Response:
        """Answer a list, from a standby if the installation has one."""
        found = standby.read(partial(action, *args, **kwargs))
        response: Response = found.answer
        if found.as_of:
            response["PF-As-Of"] = str(clock.unix(found.as_of))
        return response

    def _fields_to_expand(self, request: Request) -> list[str]:
        given = query.given(request.query_params)
        expand = query.array(given.pop("expand", []))
        if form := self.queries.get(self.action):
            self.asked = form.read(query.taken(given, form().fields))
        # The list engine reads the rest of a list's, and refuses what it does not know.
        if self.action not in self.lists:
            for [unknown, *_] in given.values():
                raise unknown.unknown(self._names_of_query(form))
        return expand

    def _names_of_query(self, form: type[Form] | None) -> list[str]:
        return [*(form().fields if form else ()), *(("expand",) if self.expandable else ())]

    def _fields_to_expand_in_body(self) -> list[str]:
        is_asked = "expand" in self.body
        fields = _expand_of(self.body)
        if is_asked and not self.expandable:
            raise ParameterInvalid("Nothing can be expanded here.", param=expansion.PARAM)
        return fields

    def page_of(self, rows: MerchantRows) -> list[Any]:
        """Return the rows of the page that the request asks for.

        :param rows: the merchant's rows that the list shows.
        :raises DomainError: as `core.rest.lists.page` does.
        """
        return self.paginate_queryset(self.filter_queryset(self.searchable(rows))) or []

    def searchable(self, rows: MerchantRows) -> MerchantRows:
        """Return the rows that `q` may find: none by the id of an object that the key may not read.

        :param rows: the merchant's rows that the list shows.
        """
        # Trimmed as the list engine trims it, or an unseen character would hide the id here alone.
        prefix, _underscore, _rest = trimmed(self.request.query_params.get("q", "")).partition("_")
        scope = resources.scopes_by_prefix().get(prefix)
        return rows if scope is None or may(self.key, scope, "GET") else rows.none()

    def _claim(self, request: Request) -> None:
        idempotency.begin(
            self.merchant,
            key=request.META.get("HTTP_IDEMPOTENCY_KEY"),
            method_and_path=f"POST {request.path}{_expanding(self.fields_in_query)}",
            body=request.data or {},
            answer_is_object=not self.expansion,
        )

    def resume(self, request: Request, **kwargs: str) -> Response:
        """Answer in the place of an earlier request that died; see `idempotency.earlier`.

        Every view that takes a POST says how.
        """
        raise NotImplementedError

    @property
    def earlier(self) -> Earlier:
        """The earlier request with the same key, which died; `resume` finishes its work."""
        earlier = idempotency.earlier()
        assert earlier is not None  # `resume` is called only if there is one.
        return earlier

    @property
    def filterset_class(self) -> type[Filters]:
        """The filters of the action's list; the filter backend reads them."""
        return self.lists[self.action].filters

    @property
    def expandable(self) -> Expandable:
        return resources.expandable(*self.shows)

    @property
    def merchant(self) -> Merchant:
        return merchant_of(self.request)

    @property
    def key(self) -> ApiKey:
        return key_of(self.request)

    def _expansion(self, fields: Iterable[str]) -> expansion.Tree:
        if self.action in self.lists:
            # Of each object of the list, whichever of the two ways it is written.
            fields = [field.removeprefix("data.") for field in fields]
        asked = expansion.read(fields, self.expandable)
        for scope in sorted(asked.scopes):
            require_scope(self.key, scope, "GET")
        return asked.tree

    def expanded(self, shown: list[Shown]) -> list[Shown]:
        """Return rendered objects with whole objects in the place of ids, as `expand[]` asks."""
        expansion.expand(shown, self.expansion, resources.kinds(), self.merchant)
        return shown

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        if isinstance(exc, DomainError) and exc.is_lasting:
            response.data = orjson.dumps(response.data)
            for name, value in idempotency.replay_headers().items():
                response[name] = value
            with _answer_even_if_not_stored():
                idempotency.save_refusal(response.status_code, response.data)
        elif not isinstance(exc, idempotency.Replayed):
            with _answer_even_if_not_stored():
                idempotency.let_go()
        return response

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        if hasattr(self, "api_version"):
            response["PF-Version"] = self.api_version
        is_fresh = not response.has_header("Idempotent-Replayed")
        is_stored = is_fresh and isinstance(response.data, bytes)  # With the work: `kept_answer`.
        if request.method == "POST" and response.status_code == 200 and is_fresh and not is_stored:
            _store(response)
        if response.status_code >= 400:
            response.data = self._readable(response.data)
        return super().finalize_response(request, response, *args, **kwargs)

    def _readable(self, refusal: dict[str, Any] | bytes) -> dict[str, Any]:
        """Return a refusal without the objects that the key may not read.

        The stored one is whole: a retry with another key of the merchant may read them.
        """
        error = (orjson.loads(refusal) if isinstance(refusal, bytes) else refusal)["error"]
        return {"error": {name: value for name, value in error.items() if self._may_read(value)}}

    def _may_read(self, value: Any) -> bool:
        """Return whether the key may read a refusal's value: its text, or an object it carries."""
        if not isinstance(value, dict):
            return True
        return may(self.key, resources.kinds()[value["object"]].scope, "GET")


def _store(response: Response) -> None:
    """Keep the answer to a POST for retries; give the one that is kept already in its place."""
    holds_secret = isinstance(response.data, dict) and "secret" in response.data
    response.data = orjson.dumps(response.data)
    headers = idempotency.replay_headers()
    with _answer_even_if_not_stored():
        first = idempotency.save_answer(
            response.status_code, response.data, holds_secret=holds_secret
        )
        if first:
            response.status_code, response.data = first.status, first.body
            headers = first.headers
    for name, value in headers.items():
        response[name] = value


@contextmanager
def _answer_even_if_not_stored() -> Iterator[None]:
    """Answer even if the replayable copy cannot be stored: the change itself is committed."""
    try:
        yield
    except DatabaseError:
        log.warning("answer_not_stored", exc_info=True)


def _version(request: Request) -> str:
    asked = request.META.get("HTTP_PF_VERSION")
    if asked is None:
        return merchant_of(request).api_version
    if asked not in settings.API_VERSIONS:
        raise ApiVersionInvalid(advice=f"It is one of: {', '.join(settings.API_VERSIONS)}.")
    return asked


def _refuse_nul(ids: Iterable[str]) -> None:
    """Refuse an address with a NUL in an id: no row has it, and PostgreSQL's driver crashes.

    :param ids: all arguments of the path.
    :raises ResourceMissing: one of them has a NUL.
    """
    for given in ids:
        if "\x00" in given:
            raise ResourceMissing(given=given)


def _expanding(fields: Iterable[str]) -> str:
    """Return the query that expands the fields, the same in whatever way it was written.

    The answer depends on it. A POST takes no other parameter in its query. Empty without fields, as
    rows of earlier versions have it.
    """
    named = "&".join(f"expand[]={field}" for field in sorted(set(fields)))
    return f"?{named}" if named else ""


def _expand_of(body: dict[str, Any]) -> list[str]:
    fields = body.pop("expand", None)
    if fields is None:
        return []
    if not isinstance(fields, list) or not all(isinstance(field, str) for field in fields):
        raise ParameterInvalid('Must be an array of field names: ["customer"].', param="expand")
    return fields
