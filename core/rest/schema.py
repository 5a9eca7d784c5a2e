"""The parts of the API's description (OpenAPI 3.1) that every room shares.

A room's `schema.py` says what its objects look like and what its views answer; what forms
and filters take is read from them. `config.schema` puts all of it together.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework import serializers

from core.errors import DomainError
from core.rest.components import Choices, Shape, named
from core.rest.fields import METADATA_KEY_MAX, METADATA_KEYS_MAX, METADATA_VALUE_MAX
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
    if isinstance(shape.get("type"), str) and "enum" not in shape and "const" not in shape:
        return {**shape, "type": [shape["type"], "null"]}
    if "anyOf" in shape:
        return {**shape, "anyOf": [*shape["anyOf"], {"type": "null"}]}
    described = {key: shape[key] for key in shape.keys() & {"description"}}
    alone = {key: value for key, value in shape.items() if key not in described}
    return {"anyOf": [alone, {"type": "null"}], **described}


def record(description: str, fields: Schemas, *, optional: tuple[str, ...] = ()) -> Shape:
    """Return an object that has these fields; a later version may add some.

    :param optional: the fields that may be absent.
    """
    return {
        "type": "object",
        "description": description,
        "properties": fields,
        "required": [name for name in fields if name not in optional],
    }


def resource(
    name: str, prefix: str, description: str, fields: Schemas, *, optional: tuple[str, ...] = ()
) -> Shape:
    """Return an object of the API: with the fields that each of them has (contract 1).

    :param name: the value of its `object`.
    :param prefix: the beginning of its id, `pi` of `pi_…`.
    """
    common = {
        "id": identifier(prefix, "The object's id."),
        "object": kind(name),
    }
    ending = {"created": instant("When it was created."), "livemode": LIVEMODE}
    return record(description, {**common, **fields, **ending}, optional=optional)


def kind(name: str) -> Shape:
    """Return the `object` of a kind of object."""
    return {"const": name, "description": f"Always `{name}`."}


def whole_or_id(prefix: str, name: str, description: str) -> Shape:
    """Return an id that `expand[]` makes a whole object.

    :param name: the schema of the object.
    """
    return {"anyOf": [identifier(prefix), ref(name)], "description": f"{description} Expandable."}


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


def array(items: Shape, description: str) -> Shape:
    return {"type": "array", "items": items, "description": description}


def list_of(name: str, *rows: Shape) -> Shape:
    """Return the list envelope of such rows (spec: List envelope).

    :param name: the envelope's own, such as `RefundList`.
    """
    shape = record(
        "A page of a list.",
        {
            "object": {"const": "list", "description": "Always `list`."},
            "url": text("The path of the list."),
            "has_more": boolean("Whether more lie beyond this page, in its direction."),
            "total_count": {**integer("How many objects match, counted up to 10000. Absent without "
                                      "`include[]=total_count`."), "maximum": 10_000},
            "total_count_capped": boolean("Whether more than 10000 objects match. Absent without "
                                          "`include[]=total_count`."),
            "data": {"type": "array", "maxItems": 100, "description": "The objects of this page.",
                     "items": rows[0] if len(rows) == 1 else named(f"{name}Item", either(rows))},
        },
        optional=("total_count", "total_count_capped"),
    )  # fmt: skip
    together = {"total_count": ["total_count_capped"], "total_count_capped": ["total_count"]}
    return named(name, {**shape, "dependentRequired": together})


def either(shapes: Iterable[Shape]) -> Shape:
    """Return one of several kinds of objects; their `object` says which."""
    return {"description": "`object` says which kind it is.", "anyOf": [*shapes]}


BRAND = Choices(
    "CardBrand",
    {
        "visa": "Visa.", "mastercard": "Mastercard.", "troy": "Troy.", "amex": "American Express.",
        "maestro": "Maestro.", "jcb": "JCB.", "unionpay": "UnionPay.", "discover": "Discover.",
        "diners": "Diners Club.",
    },
)  # fmt: skip
CARD_TYPE = Choices(
    "CardType",
    {
        "credit": "Draws on a line of credit.",
        "debit": "Draws on a bank account.",
        "prepaid": "Draws on money that was loaded onto the card.",
    },
)
LIVEMODE = boolean("Whether it is of a live installation; false in a sandbox.")
CURRENCY = {
    "type": "string",
    "pattern": "^[a-z]{3}$",
    "description": "The currency's three letters (ISO 4217), in lower case.",
}
METADATA = named("Metadata", {
    "type": "object",
    "description": "Your own keys and values, up to 50.",
    "maxProperties": METADATA_KEYS_MAX,
    "propertyNames": {"maxLength": METADATA_KEY_MAX},
    "additionalProperties": {"type": "string", "maxLength": METADATA_VALUE_MAX},
})  # fmt: skip


# --- Forms ------------------------------------------------------------------------------------


def of_form(form: type[Form], **more: Shape) -> Shape:
    """Return the named schema of a form, and of the forms within it.

    :param more: fields that are not the form's own: `expand`.
    """
    fields = {name: _field_shape(form, name, field) for name, field in form().fields.items()} | more
    return named(
        form.schema_name,
        {
            "type": "object",
            **({"description": form.schema_description} if form.schema_description else {}),
            "properties": fields,
            "required": [name for name, field in form().fields.items() if field.required],
            "additionalProperties": False,
        },
    )


def _field_shape(form: type[Form], name: str, field: serializers.Field) -> Shape:
    described = {**_given_shape(field), "description": _meaning(form, name, field)}
    return described if field.required or name in form.never_null else nullable(described)


def _meaning(form: type[Form], name: str, field: serializers.Field) -> str:
    """:raises ImproperlyConfigured: the field has no `help_text`."""
    if not field.help_text:
        raise ImproperlyConfigured(f"{form.__name__}.{name} has no help_text for the API's schema.")
    is_cleared = form.null_clears and not field.required and name not in form.never_null
    ending = "" if not is_cleared or "null" in field.help_text else " null clears it."
    return f"{field.help_text}{ending}"


def _given_shape(field: Any) -> Shape:
    if isinstance(field, serializers.ListSerializer):
        items = _given_shape(field.child)
        bounds = {} if field.allow_empty else {"minItems": 1}
        return {"type": "array", "items": items, **bounds, "maxItems": field.max_length}  # type: ignore[attr-defined]
    if inner := form_of(field):
        return of_form(inner)
    return dict(field.shape)


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

_ERROR_TYPES = Choices(
    "ErrorType",
    {
        "invalid_request_error": "The request is refused as it is: change it before you retry.",
        "idempotency_error": "The `Idempotency-Key` belongs to another request.",
        "api_error": "The service could not answer. Retry with the same `Idempotency-Key`.",
    },
)


def error_schema(codes: Mapping[str, str], carried: Mapping[str, Shape]) -> Shape:
    """Return the envelope of every refusal (contract 4).

    :param codes: the meanings of all codes that there are.
    :param carried: the objects that a refusal may carry, by name.
    """
    about = (
        "The object that the refusal is about. Mostly absent; always if the key may not read it."
    )
    objects = {name: {**shape, "description": about} for name, shape in carried.items()}
    fields = {
        "type": _ERROR_TYPES.open("What kind of problem it is."),
        "code": Choices("ErrorCode", codes).open(
            "Which problem it is; `doc_url` leads to its explanation."
        ),
        "message": text("A sentence for the developer. It never repeats a value that you sent."),
        "param": nullable(
            text("The parameter it is about, written as you would send it; null for none.")
        ),
        "doc_url": {**text("The page that explains the code."), "format": "uri"},
        "request_id": identifier("req", "The request's id, by which it can be looked up."),
    }
    inner = record("A refusal.", {**fields, **objects}, optional=tuple(carried))
    return record("The body of every refusal.", {"error": named("ErrorDetails", inner)})
