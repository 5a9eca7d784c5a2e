"""The API's schema (OpenAPI 3.1), put together of what every room says of its part.

Only who writes docs/openapi.json needs this module; the service serves that file.
"""

from typing import Any

import orjson
from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

import webhooks.schema
from config import pages
from config.openapi.operations import CODES, JSON, examples, responses, shared_examples, tags
from core.rest import components, resources, schema
from core.rest.components import Shape
from core.rest.error_codes import catalogue

DESCRIPTION = """\
Card payments by one call. Amounts are integers in minor units: 12500 with `try` is 125.00 TRY.
Times are Unix seconds. An object's ids are opaque.

Bodies are JSON objects. In a request, null for an optional field means the same as leaving it out;
in an update it clears the field. An unknown field or parameter is refused.

Every answer has a `Request-Id` header. Every refusal has the body `Error`; `x-error-codes` lists
the codes of each operation by status. Later versions may add fields to answers and words to the
fields with `x-extensible-enum`: a client ignores fields that it does not know, and takes such a
word for "something else".

HEAD is taken where GET is; other methods are answered 405.
"""

# Objects that a refusal may carry besides its words: those that it is about.
CARRIED = {
    "payment_intent": schema.ref("PaymentIntent"),
    "checkout_session": schema.ref("CheckoutSession"),
    "refund": schema.ref("Refund"),
    "payout": schema.ref("Payout"),
    "topup": schema.ref("Topup"),
    "dispute": schema.ref("Dispute"),
    "webhook_endpoint": schema.ref("WebhookEndpoint"),
}


def _text(description: str) -> Shape:
    return {"description": description, "schema": {"type": "string"}}


HEADERS = {
    "Request-Id": {
        "description": "The request's id, by which it can be looked up.",
        "schema": schema.identifier("req"),
    },
    "PF-Version": _text("The API version that the answer is written in."),
    "Idempotent-Replayed": _text(
        "`true` if the answer of an earlier request is given once more. Else absent."
    ),
    "Original-Request": _text(
        "The id of the earlier request, if its answer is given once more. Else absent."
    ),
    "PF-As-Of": _text(
        "Unix time. The list was read from a copy that has all changes up to then; later ones may "
        "be missing. Else absent."
    ),
    "Retry-After": _text("After how many seconds to try again."),
    "WWW-Authenticate": _text("How to authenticate: `Bearer`."),
}
PARAMETERS = {
    "PF-Version": {
        "in": "header",
        "name": "PF-Version",
        "description": "The API version to answer in. Absent: the one of your account.",
        "schema": {"type": "string", "enum": settings.API_VERSIONS},
    },
    "Idempotency-Key": {
        "in": "header",
        "name": "Idempotency-Key",
        "description": (
            "A text of your choice, up to 255 printable ASCII "
            "characters, that is the same for each "
            "try of one operation. The operation is done once, and each try gets the same answer, "
            "for 72 hours. Absent: each try is an operation of its own."
        ),
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    },
}


OWN_PATH = {
    pages.SCHEMA_PATH: {
        "get": {
            "operationId": "openapi_retrieve",
            "summary": "Read this description",
            "description": "The description of the API in OpenAPI 3.1. It needs no key.",
            "tags": ["Schema"],
            "security": [],
            "responses": {"200": {
                "description": "Found",
                "headers": {"Request-Id": {"$ref": "#/components/headers/Request-Id"}},
                "content": {JSON: {"schema": components.named(
                    "ApiDescription", {"type": "object", "description": "An OpenAPI document."}
                )}},
            }},
            CODES: {},
        }
    }
}  # fmt: skip
SECURITY = {
    "SecretKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "A secret key, `sk_sandbox_…` or `sk_live_…`. Keep it on your server.",
    },
    "WebhookSignature": {
        "type": "apiKey",
        "in": "header",
        "name": "PF-Signature",
        "description": "The signature that each webhook has: your endpoint checks it.",
    },
}


def document() -> dict[str, Any]:
    """Return the published schema as it follows from the code."""
    made = SchemaGenerator().get_schema(public=True)
    found: dict[str, Shape] = {}
    paths = components.hoisted({**made["paths"], **OWN_PATH}, found)
    schemas = components.hoisted({**resources.schemas(), "Error": _error()}, found)
    shared = _share_parameters(paths)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Card Payment Service",
            "version": settings.API_VERSIONS[-1],
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "This installation"}],
        "tags": [{"name": name, "description": text} for name, text in tags().values()],
        "security": [{"SecretKey": []}],
        "paths": paths,
        "webhooks": webhooks.schema.webhooks(examples().get("events", {})),
        "components": {
            "schemas": dict(sorted({**found, **schemas}.items())),
            "parameters": {**PARAMETERS, **shared, **webhooks.schema.HEADERS},
            "headers": HEADERS,
            "responses": responses(),
            "examples": shared_examples(),
            "securitySchemes": SECURITY,
        },
    }


def written() -> bytes:
    """Return what docs/openapi.json has to hold."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _error() -> Shape:
    codes = {code: text for code, _status, text in reversed(catalogue())}
    return schema.error_schema(dict(sorted(codes.items())), CARRIED)


def _share_parameters(paths: dict[str, Any]) -> dict[str, Shape]:
    """Replace the parameters that several operations have by references; return them by name.

    Of parameters with one name that differ, the first that is used twice gets it.
    """
    operations = [operation for item in paths.values() for operation in item.values()]
    every = [one for operation in operations for one in operation.get("parameters", [])]
    shared: dict[str, Shape] = {}
    for one in every:
        if "$ref" not in one and every.count(one) > 1:
            shared.setdefault(_component_name(one["name"]), one)
    for operation in operations:
        operation["parameters"] = [
            _reference(one, shared) for one in operation.get("parameters", [])
        ]
    return dict(sorted(shared.items()))


def _reference(parameter: Shape, shared: dict[str, Shape]) -> Shape:
    name = _component_name(parameter.get("name", ""))
    return (
        {"$ref": f"#/components/parameters/{name}"} if shared.get(name) == parameter else parameter
    )


def _component_name(name: str) -> str:
    """Return `created_gte` for `created[gte]`."""
    return name.replace("[]", "").replace("[", "_").replace("]", "")
