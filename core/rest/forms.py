"""Request bodies as declared forms, and how a form's first problem becomes a refusal."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

from core.errors import DomainError, Explained, ParameterInvalid, ParameterMissing, ParameterUnknown
from core.rest.brackets import Path, bracketed, shown_name
from core.rest.messages import legible, nearest, taken
from core.rest.stripe_names import PARAMETERS

MISSING = ("required", "null", "blank")
NOT_VALID = ((), ErrorDetail("The request is not valid.", code="parameter_invalid"))


class Form(serializers.Serializer):
    """A body whose every parameter is declared.

    At a create, null equals leaving the parameter out. A form with
    `null_clears = True` (an update) passes null on as None instead.

    `codes` are the codes of its own with which `validate` refuses; its fields have theirs.
    `schema_name` is what a client calls the type of such a body, `never_null` the optional fields
    that an update cannot clear.
    """

    schema_name = ""
    schema_description = ""
    null_clears = False
    never_null: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    default_error_messages = {"parameter_unknown": "The endpoint does not know this parameter."}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError(
                {api_settings.NON_FIELD_ERRORS_KEY: ["Must be an object."]},
                code="parameter_invalid",
            )
        self._refuse_unknown(data)
        nulls = [name for name, value in data.items() if value is None]
        optional = {name for name in nulls if not self.fields[name].required}
        given = {name: value for name, value in data.items() if name not in optional}
        validated = super().to_internal_value(given)
        if self.null_clears:
            validated.update(dict.fromkeys(optional))
        return validated

    def _refuse_unknown(self, data: dict[str, Any]) -> None:
        for name in data:
            if name not in self.fields:
                message = self.error_messages["parameter_unknown"]
                raise serializers.ValidationError({name: [message]}, code="parameter_unknown")

    @classmethod
    def read(cls, body: dict[str, Any]) -> dict[str, Any]:
        """Return the validated parameters of a body.

        :raises DomainError: the first problem is answered.
        """
        form = form_of(cls)
        try:
            return form.validated(body)
        except serializers.ValidationError as problem:
            raise refusal(problem.detail, form, form.lacking_too(body)) from None

    def validated(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the validated parameters of a body, or of an object within one.

        :raises rest_framework.serializers.ValidationError: a problem, or several.
        """
        # Not `is_valid`, which would keep the body and its problems in the form.
        validated: dict[str, Any] = self.run_validation(body)
        return validated

    def lacking_too(self, body: dict[str, Any]) -> tuple[str, ...]:
        """Return parameters that a refused body lacks beyond what the form itself requires."""
        return ()


@cache
def form_of(form: type[Form]) -> Form:
    """Return the one object of a form: all threads share it, and no request leaves a trace in it.

    A new one would copy its fields for each request.
    """
    return form()


class Refused(DomainError):
    """A form's problem that has a code of its own, such as `amount_too_small`."""

    def __init__(self, code: str, message: str, *, param: str | None, advice: str = "") -> None:
        self.code = code
        super().__init__(message, param=param, advice=advice)


def refusal(detail: Any, form: Form, lacking: tuple[str, ...] = ()) -> DomainError:
    """Turn a validation error's detail into the refusal of its first problem.

    :param lacking: parameters that are missing as well, by their names.
    """
    path, problem = next(_problems(detail, ()), NOT_VALID)
    param = shown_name(bracketed(path)) if path else None
    if problem.code in MISSING:
        return ParameterMissing(param=param, lacking=(*_lacking(detail, form), *lacking))
    if problem.code == "parameter_unknown":
        return ParameterUnknown(param=param, advice=_instead_of(path, form))
    advice = _advice(_field_at(form, path), problem)
    if problem.code in OWN_CODES:
        return Refused(problem.code, str(problem), param=param, advice=advice)
    return ParameterInvalid(str(problem), param=param, advice=advice)


def _advice(field: Any, problem: ErrorDetail) -> str:
    """Return a field's advice, for its own sentences; another one about it needs none."""
    is_own = field is not None and str(problem) in field.error_messages.values()
    return getattr(field, "advice", "") if is_own else ""


def _lacking(detail: Any, form: Form) -> Iterator[str]:
    """Yield the names of all parameters that are missing; of an object, of all that it requires."""
    for path, problem in _problems(detail, ()):
        if problem.code in MISSING:
            yield from required_within(_field_at(form, path), path)


def required_within(field: Any, path: Path) -> Iterator[str]:
    """Yield the name of a parameter, or of those that it requires if it is an object."""
    inner = fields_of(field)
    needed = [name for name, one in inner.items() if one.required]
    for name in needed:
        yield from required_within(inner[name], (*path, name))
    if not needed:
        yield bracketed(path)


def fields_of(field: Any) -> dict[str, Any]:
    """Return the fields of an object's parameters; none if it is no object."""
    form = getattr(field, "form", None)
    inner: dict[str, Any] = getattr(form_of(form) if form else field, "fields", {})
    return inner


def _field_at(form: Form, path: Path) -> Any:
    field: Any = form
    for part in path:
        inner = fields_of(field)
        # Not of an object: an item of an array, else a key of a field that takes any.
        field = inner[str(part)] if part in inner else getattr(field, "child", field)
    return field


def _instead_of(path: Path, form: Form) -> str:
    """Return advice for an unknown name: Stripe's counterpart, the nearest, or one inside."""
    *above, name = path
    if stripe := PARAMETERS.get(str(name)):
        return stripe
    inner = fields_of(_field_at(form, tuple(above)))
    if meant := nearest(str(name), inner):
        return f"Did you mean {bracketed((*above, meant))}?"
    if deeper := [one for one in _names(form, ()) if one.endswith(f"[{name}]")]:
        return f"Did you mean {deeper[0]}?"
    object_name = legible(bracketed(tuple(above))) if above else None
    return taken(inner, by=object_name or "The endpoint")


def _names(field: Any, path: Path) -> Iterator[str]:
    """Yield the names of all parameters below a field."""
    for name, one in fields_of(field).items():
        yield bracketed((*path, name))
        yield from _names(one, (*path, name))


# The codes that fields and forms give themselves, and what each means.
OWN_CODES = {
    "amount_too_small": "The amount must be at least 1 minor unit.",
    "amount_too_large": "The amount is above what this parameter takes.",
    "currency_not_supported": "The installation does not take this currency.",
    "incorrect_number": "The card number is not right: its check digit or length is wrong.",
    "invalid_expiry_month": "The expiry month is not 1 to 12.",
    "invalid_expiry_year": "The expiry year is not a year of four digits.",
    "expired_card": "The card's last month is over everywhere on earth.",
    "invalid_cvc": "The security code does not have the digits that the card's brand asks for.",
}
# The same codes in the reference.
OWN_EXPLAINED = {
    "amount_too_small": Explained(
        cause="An amount is 0 or negative.",
        remedy="Send an integer of 1 or more, in minor units: 125.00 TRY is 12500.",
    ),
    "amount_too_large": Explained(
        cause=(
            "An amount is above 999999999999, above what can be captured, or above what can be "
            "refunded."
        ),
        remedy=(
            "Read the payment: `amount_capturable` and `amount_refundable` are the most that a "
            "capture and a refund take. Without an amount they take all that is left."
        ),
    ),
    "currency_not_supported": Explained(
        cause="This installation does not take payments in this currency.",
        remedy=(
            "Send one of the currencies that the operator has set (`CURRENCIES`); by default these "
            "are `try`, `usd`, `eur` and `gbp`."
        ),
    ),
    "incorrect_number": Explained(
        cause=(
            "The card number's check digit is wrong, or no brand issues numbers of this length. No "
            "bank was asked."
        ),
        remedy="Ask the customer to type the number again.",
    ),
    "invalid_expiry_month": Explained(
        cause="The month in which the card expires is not 1 to 12.",
        remedy="Send `exp_month` as an integer from 1 to 12.",
    ),
    "invalid_expiry_year": Explained(
        cause="The year in which the card expires does not have four digits.",
        remedy="Send `exp_year` as an integer of four digits, such as 2030.",
    ),
    "expired_card": Explained(
        cause=(
            "The month in which the card expires is over in every time zone. No bank was asked. A "
            "bank's own refusal is shown in `last_payment_error` instead."
        ),
        remedy="Ask the customer for the right date, or for another card.",
    ),
    "invalid_cvc": Explained(
        cause=(
            "The security code has not as many digits as the card's brand prints: four for American"
            " Express, three for others."
        ),
        remedy="Ask the customer to type the security code again.",
    ),
}


def _problems(detail: Any, path: Path) -> Iterator[tuple[Path, ErrorDetail]]:
    """Yield the problems of a validation error, in the order of the fields."""
    if isinstance(detail, ErrorDetail):
        yield path, detail
    elif isinstance(detail, dict):
        for name, inner in detail.items():
            is_own = name == api_settings.NON_FIELD_ERRORS_KEY
            yield from _problems(inner, path if is_own else (*path, name))
    else:
        for index, inner in enumerate(detail):
            yield from _problems(inner, path if isinstance(inner, ErrorDetail) else (*path, index))
