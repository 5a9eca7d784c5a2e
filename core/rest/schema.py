"""The parts of the API's description (OpenAPI 3.1) that every room shares.

A room's `schema.py` says what its objects look like and what its views answer; what forms
and filters take is read from them. `config.schema` puts all of it together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from core.errors import DomainError
from core.rest.fields import METADATA_KEY_MAX, METADATA_VALUE_MAX, Shape
from core.rest.forms import OWN_CODES, Form

Schemas = dict[str, Shape]


@dataclass(frozen=True, slots=True)
class Operation:
    """One action of the API, as the schema describes it in addition to its view and form.

    :param summary: its purpose, a short imperative.
    :param answers: the shape of its answer; `list_of` marks a list.
    :param takes: the form that reads its body.
    :param needs: the query's parameters that must be given.
    :param refuses: its refusals beyond those of every action with its method.
    """

    summary: str
    answers: Shape
    takes: type[Form] | None = None
    description: str = ""
    needs: tuple[str, ...] = ()
    refuses: tuple[type[DomainError], ...] = ()


# --- Words ------------------------------------------------------------------------------------


def ref(name: str) -> Shape:
    """Return a reference to the schema of that name, of this room or another."""
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(shape: Shape) -> Shape:
    """Return a shape that takes null too."""
    if isinstance(shape.get("type"), str) and "enum" not in shape:
        return {**shape, "type": [shape["type"], "null"]}
    if "anyOf" in shape:
        return {**shape, "anyOf": [*shape["anyOf"], {"type": "null"}]}
    described = {key: shape[key] for key in shape.keys() & {"description"}}
    inner = {key: value for key, value in shape.items() if key not in described}
    return {"anyOf": [inner, {"type": "null"}], **described}


def record(description: str, fields: Schemas, *, optional: tuple[str, ...] = ()) -> Shape:
    """Return an object that has these fields and no others.

    :param optional: the fields that may be absent.
    """
    return {
        "type": "object",
        "description": description,
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def resource(
    name: str, prefix: str, description: str, fields: Schemas, *, optional: tuple[str, ...] = ()
) -> Shape:
    """Return an object of the API: with the fields that each of them has (contract 1).

    :param name: the value of its `object`.
    :param prefix: the beginning of its id, `pi` of `pi_…`.
    """
    common = {"id": identifier(prefix), "object": {"const": name}}
    ending = {"created": instant("When it was made."), "livemode": LIVEMODE}
    return record(description, {**common, **fields, **ending}, optional=optional)


def identifier(prefix: str, description: str = "") -> Shape:
    shape = {"type": "string", "pattern": f"^{prefix}_[0-9A-Za-z]+$"}
    return {**shape, "description": description} if description else shape


def text(description: str) -> Shape:
    return {"type": "string", "description": description}


def integer(description: str, *, minimum: int | None = 0) -> Shape:
    least = {} if minimum is None else {"minimum": minimum}
    return {"type": "integer", **least, "description": description}


def minor(description: str) -> Shape:
    """Return an amount of money, 0 or more."""
    return integer(f"{description} Minor units.")


def instant(description: str) -> Shape:
    return integer(f"{description} Unix seconds.")


def boolean(description: str) -> Shape:
    return {"type": "boolean", "description": description}


def one_of(choices: Any, description: str) -> Shape:
    return {"type": "string", "enum": [str(choice) for choice in choices],
            "description": description}  # fmt: skip


def array(items: Shape, description: str) -> Shape:
    return {"type": "array", "items": items, "description": description}


def list_of(*rows: Shape) -> Shape:
    """Return the list envelope of such rows (spec: List envelope)."""
    shape = record(
        "A page of a list.",
        {
            "object": {"const": "list"},
            "url": text("The path of the list."),
            "has_more": boolean("Whether more lie beyond this page, in its direction."),
            "total_count": {**integer("How many match; with `include[]=total_count`."),
                            "maximum": 10_000},
            "total_count_capped": boolean("Whether more than 10000 match."),
            "data": {"type": "array", "maxItems": 100,
                     "items": rows[0] if len(rows) == 1 else {"anyOf": [*rows]}},
        },
        optional=("total_count", "total_count_capped"),
    )  # fmt: skip
    together = {"total_count": ["total_count_capped"], "total_count_capped": ["total_count"]}
    return {**shape, "dependentRequired": together}


LIVEMODE = boolean("False in a sandbox.")
CURRENCY = {"type": "string", "pattern": "^[a-z]{3}$", "description": "ISO 4217, in lower case."}
METADATA = {
    "type": "object",
    "description": "Your own keys and values.",
    "maxProperties": 50,
    "propertyNames": {"maxLength": METADATA_KEY_MAX},
    "additionalProperties": {"type": "string", "maxLength": METADATA_VALUE_MAX},
}


# --- Forms ------------------------------------------------------------------------------------


def form_name(form: type[Form]) -> str:
    """Return under which name a form's schema is found."""
    return form.__name__.removesuffix("Form") + "Request"


def of_form(form: type[Form]) -> Schemas:
    """Return the schemas of a form and of the forms within it, by name."""
    found: Schemas = {}
    fields = {name: _field_shape(field, found) for name, field in form().fields.items()}
    found[form_name(form)] = {
        "type": "object",
        "properties": fields,
        "required": [name for name, field in form().fields.items() if field.required],
        "additionalProperties": False,
    }
    return found


def _field_shape(field: serializers.Field, found: Schemas) -> Shape:
    shape = _given_shape(field, found)
    return shape if field.required else nullable(shape)


def _given_shape(field: Any, found: Schemas) -> Shape:
    if isinstance(field, serializers.ListSerializer):
        items = _given_shape(field.child, found)
        bounds = {} if field.allow_empty else {"minItems": 1}
        return {"type": "array", "items": items, **bounds, "maxItems": field.max_length}  # type: ignore[attr-defined]
    if inner := form_of(field):
        found.update(of_form(inner))
        return ref(form_name(inner))
    return field.shape


def form_of(field: Any) -> type[Form] | None:
    """Return the form that a field's value is read by, if it has one."""
    return type(field) if isinstance(field, Form) else getattr(field, "form", None)


def codes_of(form: type[Form]) -> Iterator[str]:
    """Yield the codes of their own with which a form and what is in it refuse."""
    yield from form.codes
    for field in form().fields.values():
        inner: Any = field.child if isinstance(field, serializers.ListSerializer) else field
        if within := form_of(inner):
            yield from codes_of(within)
        else:
            yield from (code for code in getattr(inner, "codes", ()) if code in OWN_CODES)


# --- Errors -----------------------------------------------------------------------------------


def error_schema(codes: list[str], carried: Mapping[str, Shape]) -> Shape:
    """Return the envelope of every refusal (contract 4).

    :param codes: all codes that there are.
    :param carried: the objects that a refusal may carry, by name.
    """
    kinds = ("invalid_request_error", "idempotency_error", "api_error")
    fields = {
        "type": one_of(kinds, "What kind of problem it is."),
        "code": one_of(codes, "Which problem it is; `doc_url` explains it."),
        "message": text("A sentence for the developer. It never repeats a value you sent."),
        "param": nullable(text("The parameter it is about, written as you would send it.")),
        "doc_url": {**text("Where the code is explained."), "format": "uri"},
        "request_id": identifier("req", "The request's id, to look it up by."),
    }
    inner = record("A refusal.", {**fields, **carried}, optional=tuple(carried))
    return record("What every refusal looks like.", {"error": inner})


def error_of(codes: list[str]) -> Shape:
    """Return the envelope with some of the codes only."""
    return {"allOf": [ref("Error"), {
        "properties": {"error": {"properties": {"code": {"enum": sorted(codes)}}}},
    }]}  # fmt: skip
