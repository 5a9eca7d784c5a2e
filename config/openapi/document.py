"""The API's schema (OpenAPI 3.1), put together of what every room says of its part.

Only who writes docs/openapi.json needs this module; the service serves that file.
"""

from typing import Any

import orjson
from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

import webhooks.schema
from config import pages
from config.openapi.operations import JSON, responses, tags
from core.rest import resources, schema
from core.rest.error_codes import catalogue
from core.rest.fields import Shape

DESCRIPTION = """\
Card payments by one call. Amounts are integers in minor units: 12500 with `try` is 125.00 TRY.

Bodies are JSON, or forms in bracket notation (`metadata[order]=7`). An object's ids are opaque.
Every answer has a `Request-Id` header; every refusal has the envelope `Error`. What is not in this
schema is refused: an unknown parameter with `parameter_unknown` or `parameter_invalid`, another
method with 405. HEAD is taken where GET is.
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
        "description": "The request's id, to look it up by.",
        "schema": schema.identifier("req"),
    },
    "PF-Version": _text("The version that the answer is written in."),
    "Idempotent-Replayed": _text("`true`: the first request's answer, given once more."),
    "Original-Request": _text("The id of the request that was answered first."),
    "Retry-After": _text("In how many seconds to try again."),
    "WWW-Authenticate": _text("How to authenticate."),
}
PARAMETERS = {
    "PF-Version": {
        "in": "header",
        "name": "PF-Version",
        "description": "The version to answer in; your account's own without it.",
        "schema": {"type": "string", "enum": settings.API_VERSIONS},
    },
    "Idempotency-Key": {
        "in": "header",
        "name": "Idempotency-Key",
        "description": (
            "Any text that is the same for each try of one operation: it is done once, and each "
            "try gets the same answer. Kept for 72 hours."
        ),
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    },
}


OWN_PATH = {
    pages.SCHEMA_PATH: {
        "get": {
            "operationId": "openapi.json_retrieve",
            "summary": "Read this description",
            "tags": ["Schema"],
            "security": [],
            "responses": {"200": {
                "description": "Found",
                "headers": {"Request-Id": {"$ref": "#/components/headers/Request-Id"}},
                "content": {JSON: {"schema": {"type": "object"}}},
            }},
        }
    }
}  # fmt: skip


def document() -> dict[str, Any]:
    """Return the schema as it follows from the code."""
    made = SchemaGenerator().get_schema(public=True)
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
        "paths": {**made["paths"], **OWN_PATH},
        "webhooks": webhooks.schema.webhooks(),
        "components": {
            "schemas": dict(sorted(_schemas(made["components"]["schemas"]).items())),
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": responses(),
            "securitySchemes": {
                "SecretKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A secret key, `sk_sandbox_…` or `sk_live_…`, of your server.",
                }
            },
        },
    }


def written() -> bytes:
    """Return what docs/openapi.json has to hold."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _schemas(of_forms: dict[str, Shape]) -> dict[str, Shape]:
    codes = sorted({code for code, _status, _text in catalogue()})
    return {
        **of_forms,
        **resources.schemas(),
        "Error": schema.error_schema(codes, CARRIED),
    }
