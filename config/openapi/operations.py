"""One action of the API as its schema describes it."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import orjson
from django.conf import settings
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry

from api import authentication, idempotency
from api.viewset import ApiVersionInvalid, ApiViewSet
from config.front_door import HttpsRequired
from core import errors, limits
from core.errors import DomainError
from core.rest import components, parameters, resources, schema
from core.rest.components import Shape
from core.rest.forms import Form
from core.rest.list_query import ParametersExclusive

EXAMPLES = settings.BASE_DIR / "docs" / "openapi-examples.json"
ID = re.compile(r"{\w+}")
JSON = "application/json"


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
# Answers that have the same codes for every operation that gives them, by their names.
SAME_EVERYWHERE = {
    401: "Unauthorized", 413: "BodyTooLarge", 415: "UnsupportedMediaType",
    429: "RateLimited", 500: "InternalError", 503: "Unavailable",
}  # fmt: skip
# Statuses of codes that no operation has for itself alone: their examples are shared.
SHARED_STATUSES = frozenset({403, 409, *SAME_EVERYWHERE})
# Of an operation: the codes of its refusals by status.
CODES = "x-error-codes"


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
        codes = self._codes()
        return {
            "operationId": name,
            "summary": described.summary,
            "description": self._description(codes),
            "tags": [tag],
            "parameters": list(self._parameters()),
            **({"requestBody": self._body(described.takes, name)} if described.takes else {}),
            "responses": {
                "200": self._answer(name),
                **{str(status): _refusal(name, status, codes[status]) for status in sorted(codes)},
            },
            CODES: {str(status): sorted(codes[status]) for status in sorted(codes)},
        }

    @property
    def _described(self) -> schema.Operation:
        return self.view.operations[self.view.action]

    def _description(self, codes: Mapping[int, set[str]]) -> str:
        """Return the operation's description, and the codes that are not every operation's."""
        own = [
            f"`{code}` ({status})"
            for status in sorted(codes)
            for code in sorted(codes[status] - SHARED_CODES)
        ]
        refused = f"Refusals of its own: {', '.join(own)}." if own else ""
        return "\n\n".join(part for part in (self._described.description, refused) if part)

    @property
    def _section(self) -> str:
        return self.path.split("/")[2]

    @property
    def _is_list(self) -> bool:
        return "data" in components.shape_of(self._described.answers).get("properties", {})

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
        yield from self._expand()
        yield _shared("parameters", "PF-Version")
        if self.method == "POST":
            yield _shared("parameters", "Idempotency-Key")

    def _expand(self) -> Iterator[Shape]:
        shows = self.view.shows
        name = shows[0] if len(shows) == 1 else self._section
        words = "".join(word.title() for word in name.replace(".", "_").split("_"))
        return parameters.expand(self.view.expandable, of=words)

    def _body(self, form: type[Form], name: str) -> Shape:
        more = {one["name"].removesuffix("[]"): self._expand_in_body(one) for one in self._expand()}
        example = examples().get(name, {}).get("request")
        as_json = {
            "schema": schema.of_form(form, **more),
            **({"example": example} if example else {}),
        }
        is_required = any(field.required for field in form().fields.values())
        return {"required": is_required, "content": {JSON: as_json}}

    def _expand_in_body(self, parameter: Shape) -> Shape:
        return schema.nullable({**parameter["schema"], "description": parameter["description"]})

    def _answer(self, name: str) -> Shape:
        example = examples().get(name, {}).get("response")
        headers = ["Request-Id", "PF-Version"]
        headers += ["Idempotent-Replayed", "Original-Request"] if self.method == "POST" else []
        headers += ["PF-As-Of"] if self.view.action in self.view.lists else []
        shape = {"schema": self._described.answers, **({"example": example} if example else {})}
        return {
            "description": "Done" if self.method == "POST" else "Found",
            "headers": {header: _shared("headers", header) for header in headers},
            "content": {JSON: shape},
        }

    def _codes(self) -> Mapping[int, set[str]]:
        codes: dict[int, set[str]] = defaultdict(set)
        for kind in self._kinds():
            codes[kind.http_status].add(kind.code)
        for form in (self._described.takes, self._query):
            if form:
                codes[400].update(schema.codes_of(form))
        return codes

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


SHARED_CODES = frozenset(
    kind.code
    for kind in (*ALWAYS, *CHANGING, *POSTING, errors.PermissionDenied, errors.ResourceMissing,
                 ParametersExclusive)
)  # fmt: skip


def _shared(kind: str, name: str) -> Shape:
    return {"$ref": f"#/components/{kind}/{name}"}


def _refusal(operation: str, status: int, codes: set[str]) -> Shape:
    if status in SAME_EVERYWHERE:
        return _shared("responses", SAME_EVERYWHERE[status])
    own = examples().get(operation, {}).get("refusals", {}).get(str(status), {})
    shared = {code: _shared("examples", code) for code in sorted(codes & _shared_of(status).keys())}
    return refusal(status, codes, {**_shown(own), **shared})


def responses() -> dict[str, Shape]:
    """Return the refusals that are the same everywhere, by name."""
    kinds = (*ALWAYS, *POSTING, errors.ResourceMissing)
    return {
        name: refusal(
            status,
            {kind.code for kind in kinds if kind.http_status == status},
            _shown(_shared_of(status)),
        )
        for status, name in SAME_EVERYWHERE.items()
    }


def shared_examples() -> dict[str, Shape]:
    """Return the examples of refusals that many operations refer to, by their codes."""
    statuses = sorted(SHARED_STATUSES - SAME_EVERYWHERE.keys())
    return {code: one for status in statuses for code, one in _shown(_shared_of(status)).items()}


def _shared_of(status: int) -> dict[str, Shape]:
    found: dict[str, Shape] = examples().get("refusals", {}).get(str(status), {})
    return found


def _shown(bodies: Mapping[str, Shape]) -> dict[str, Shape]:
    return {code: {"value": bodies[code]} for code in sorted(bodies)}


def refusal(status: int, codes: set[str], shown: Mapping[str, Shape]) -> Shape:
    """Return the answer of a status with its codes.

    :param shown: examples, by their codes.
    """
    of_status = {401: ["WWW-Authenticate"], **dict.fromkeys((409, 429, 503), ["Retry-After"])}
    headers = ["Request-Id", *of_status.get(status, [])]
    named = ", ".join(f"`{code}`" for code in sorted(codes))
    return {
        "description": f"{STATUSES[status]}: {named}",
        "headers": {name: _shared("headers", name) for name in headers},
        "content": {
            JSON: {"schema": schema.ref("Error"), **({"examples": shown} if shown else {})}
        },
    }


@cache
def examples() -> dict[str, Any]:
    """Return what the service was recorded to answer, by operation."""
    return orjson.loads(EXAMPLES.read_bytes()) if EXAMPLES.exists() else {}
