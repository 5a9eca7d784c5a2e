"""One action of the API as its schema describes it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
from django.conf import settings
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent

from api import authentication, idempotency
from api.viewset import ApiVersionInvalid, ApiViewSet
from config.front_door import HttpsRequired
from core import errors, limits
from core.errors import DomainError
from core.rest import parameters, resources, schema
from core.rest.fields import Shape
from core.rest.forms import Form
from core.rest.list_query import ParametersExclusive

EXAMPLES = settings.BASE_DIR / "docs" / "openapi-examples.json"
ID = re.compile(r"{\w+}")
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


# Refusals of every action, those of POST and DELETE too, and those of POST alone.
ALWAYS = (
    errors.ParameterInvalid, errors.CardDataInUrl, errors.HeaderRepeated, ApiVersionInvalid,
    *authentication.REFUSALS,
    limits.RateLimited, errors.InternalError, errors.UpstreamUnavailable,
    errors.Overloaded, HttpsRequired,
)  # fmt: skip
CHANGING = (errors.LockTimeout,)
POSTING = (
    errors.BodyInvalid, errors.BodyTooLarge, errors.UnsupportedMediaType, errors.ParameterMissing,
    errors.ParameterUnknown, errors.CardDataNotAllowed, idempotency.IdempotencyKeyInvalid,
    idempotency.IdempotencyKeyReused, idempotency.IdempotencyKeyInUse,
)  # fmt: skip
STATUSES = {
    400: "Refused", 401: "The key is not valid", 403: "Not allowed", 404: "Not found",
    409: "Try again shortly", 413: "The body is too large", 415: "Not a type of body we take",
    429: "Too many requests", 500: "Something went wrong on our side",
    503: "Not possible right now",
}  # fmt: skip
# The sections of the document, by the paths of their resources.
ORDER = (
    "payment_intents", "checkout", "installments", "refunds", "customers", "disputes", "search",
    "payouts", "topups", "balance", "balance_transactions", "merchant", "webhook_endpoints",
    "events", "request_logs",
)  # fmt: skip
SAME_EVERYWHERE = (401, 404, 413, 415, 429, 500, 503)


@cache
def tags() -> dict[str, tuple[str, str]]:
    """Return the sections of the document: name and description by the first part of a path."""
    return {
        **{path: resources.RESOURCES[path].tag for path in ORDER},
        "openapi.json": ("Schema", "This description."),
    }


class ApiSchema(AutoSchema):
    """Describe one action of an `ApiViewSet` by its `operations`, lists and forms."""

    view: ApiViewSet  # type: ignore[override]  # Every view that it describes is one of ours.

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> dict[str, Any]:
        self.path, self.method, self.registry = path, method.upper(), registry
        described = self._described
        # A KeyError of these two names the resource or the action that is not described yet.
        tag, _description = tags()[self._section]
        name = f"{self._section}_{self.view.action}"
        return {
            "operationId": name,
            "summary": described.summary,
            **({"description": described.description} if described.description else {}),
            "tags": [tag],
            "parameters": list(self._parameters()),
            **({"requestBody": self._body(described.takes, name)} if described.takes else {}),
            "responses": {"200": self._answer(name), **self._refusals()},
        }

    @property
    def _described(self) -> schema.Operation:
        return self.view.operations[self.view.action]

    @property
    def _section(self) -> str:
        return self.path.split("/")[2]

    @property
    def _is_list(self) -> bool:
        return "data" in self._described.answers.get("properties", {})

    @property
    def _query(self) -> type[Form] | None:
        return self.view.queries.get(self.view.action)

    def _parameters(self) -> Iterator[Shape]:
        view = self.view
        yield from (parameters.in_path(name[1:-1]) for name in ID.findall(self.path))
        if spec := view.lists.get(view.action):
            yield from parameters.of_list(spec, needed=self._described.needs)
        if query := self._query:
            yield from parameters.of_form(query)
        yield from parameters.expand(view.expandable)
        yield _shared("parameters", "PF-Version")
        if self.method == "POST":
            yield _shared("parameters", "Idempotency-Key")

    def _body(self, form: type[Form], name: str) -> Shape:
        shape = self._registered(form)
        nested = {
            field: {"style": "deepObject", "explode": True}
            for field, kind in form().fields.items()
            if schema.form_of(kind) or field in ("metadata", "line_items")
        }
        example = examples().get(name, {}).get("request")
        as_json = {"schema": shape, **({"example": example} if example else {})}
        as_form = {"schema": shape, **({"encoding": nested} if nested else {})}
        is_required = any(field.required for field in form().fields.values())
        return {"required": is_required, "content": {JSON: as_json, FORM: as_form}}

    def _registered(self, form: type[Form]) -> Shape:
        """Add the form's schemas to the components; `expand` may be one of its fields."""
        found = schema.of_form(form)
        top = schema.form_name(form)
        for parameter in parameters.expand(self.view.expandable):
            found[top]["properties"]["expand"] = schema.nullable(parameter["schema"])
        for name, shape in found.items():
            component = ResolvedComponent(name, ResolvedComponent.SCHEMA, shape, name)
            self.registry.register_on_missing(component)
        return schema.ref(top)

    def _answer(self, name: str) -> Shape:
        example = examples().get(name, {}).get("response")
        headers = ["Request-Id", "PF-Version"]
        headers += ["Idempotent-Replayed", "Original-Request"] if self.method == "POST" else []
        shape = {"schema": self._described.answers, **({"example": example} if example else {})}
        return {
            "description": "Done" if self.method == "POST" else "Found",
            "headers": {header: _shared("headers", header) for header in headers},
            "content": {JSON: shape},
        }

    def _refusals(self) -> Shape:
        codes: dict[int, set[str]] = defaultdict(set)
        for kind in self._kinds():
            codes[kind.http_status].add(kind.code)
        for form in (self._described.takes, self._query):
            if form:
                codes[400].update(schema.codes_of(form))
        return {str(status): _refusal(status, codes[status]) for status in sorted(codes)}

    def _kinds(self) -> Iterator[type[DomainError]]:
        yield from ALWAYS
        yield from self._described.refuses
        if self._query:
            yield errors.ParameterMissing
        if self.view.scope:
            yield errors.PermissionDenied
        if self._is_list or ID.search(self.path):
            yield errors.ResourceMissing
        if self.view.action in self.view.lists:
            yield ParametersExclusive
        if self.method != "GET":
            yield from CHANGING
        if self.method == "POST":
            yield from POSTING


def _shared(kind: str, name: str) -> Shape:
    return {"$ref": f"#/components/{kind}/{name}"}


def _refusal(status: int, codes: set[str]) -> Shape:
    if status in SAME_EVERYWHERE:
        return _shared("responses", str(status))
    return refusal(status, codes)


def responses() -> dict[str, Shape]:
    """Return the refusals that are the same everywhere, by status."""
    kinds = (*ALWAYS, *POSTING, errors.ResourceMissing)
    return {
        str(status): refusal(status, {kind.code for kind in kinds if kind.http_status == status})
        for status in SAME_EVERYWHERE
    }


def refusal(status: int, codes: set[str]) -> Shape:
    of_status = {401: ["WWW-Authenticate"], **dict.fromkeys((409, 429, 503), ["Retry-After"])}
    headers = ["Request-Id", *of_status.get(status, [])]
    example = examples().get("refusals", {}).get(str(status))
    shape = {"schema": schema.error_of(sorted(codes))}
    return {
        "description": STATUSES[status],
        "headers": {name: _shared("headers", name) for name in headers},
        "content": {JSON: {**shape, **({"example": example} if example else {})}},
    }


@cache
def examples() -> dict[str, Any]:
    """Return what the service was recorded to answer, by operation."""
    return orjson.loads(EXAMPLES.read_bytes()) if EXAMPLES.exists() else {}
