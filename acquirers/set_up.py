"""The values of terminals: each adapter declares its fields, and here they are checked and parted.

A secret never leaves this room but sealed; a message names a field, and never its value.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings

from core import money, urls

# One line of visible ASCII.
TEXT = r"[\x21-\x7e]{1,200}"
# With blanks.
PASSWORD = r"[\x20-\x7e]{1,500}"  # noqa: S105 - Its form.
ADDRESS = r"https?://[\x21-\x7e]{1,300}"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


YES, NO = "yes", "no"


class SetUpRefused(ValueError):
    """A terminal or a route cannot be set up so; the text says why, to an operator."""


@dataclass(frozen=True, slots=True)
class Field:
    """One value that a kind of terminal has.

    :param form: a regular expression that the whole value matches.
    :param default: what counts where the value is left out; None if it is required, or if the
        adapter knows better.
    """

    name: str
    is_secret: bool = False
    form: str = TEXT
    is_required: bool = True
    default: str | None = None

    @property
    def is_address(self) -> bool:
        return self.form == ADDRESS


API_URL = Field("api_url", form=ADDRESS)
GATE_URL = Field("gate_url", form=ADDRESS)
# Whether the contract allows payers whose issuer has answered for them (mdStatus 2 to 4).
ACCEPTS_ATTEMPTED = Field("accepts_attempted", form=f"{YES}|{NO}", default=NO)
# Below the 45 seconds that a request has.
TIMEOUT_SECONDS = Field("timeout_seconds", form=r"[1-9]|[1-3][0-9]|40", is_required=False)


@dataclass(frozen=True, slots=True)
class Values:
    """A terminal's checked values: those that may be shown, and the secrets."""

    shown: dict[str, str]
    secrets: dict[str, str]


def checked(fields: Iterable[Field], values: Mapping[str, object]) -> Values:
    """Return a terminal's values, parted by what may be shown; defaults are filled in.

    :param values: by the names that the kind declares.
    :raises SetUpRefused: a field is missing, unknown or malformed, or a live installation gets
        an address without TLS; the text names the field.
    """
    declared = {field.name: field for field in fields}
    for name in values:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise SetUpRefused(f"{name}: this kind has no such field. Its fields: {known}.")
    parted = Values({}, {})
    for field in declared.values():
        value = _checked(field, values.get(field.name, field.default))
        if value is not None:
            (parted.secrets if field.is_secret else parted.shown)[field.name] = value
    return parted


def _checked(field: Field, value: object) -> str | None:
    if value is None:
        if field.is_required:
            raise SetUpRefused(f"{field.name}: missing.")
        return None
    if not isinstance(value, str) or re.fullmatch(field.form, value) is None:
        raise SetUpRefused(f"{field.name}: malformed. It is a text of the form {field.form}.")
    if field.is_address:
        _require_address(field.name, value)
    return value


def _require_address(name: str, address: str) -> None:
    try:
        parsed = urls.parse(address)
    except ValueError as problem:
        raise SetUpRefused(f"{name}: malformed. It is no address.") from problem
    if settings.LIVEMODE and parsed.scheme != "https":
        raise SetUpRefused(f"{name}: a live installation sends to https:// addresses only.")


def require_name(name: str) -> None:
    """:raises SetUpRefused: a terminal cannot be called so."""
    if NAME.fullmatch(name) is None:
        raise SetUpRefused(
            "name: 1 to 40 small letters, digits, - and _, beginning with a letter or a digit."
        )


def listed(name: str, values: object, known: Iterable[str]) -> list[str]:
    """Return the entries of a list that a terminal is limited to; empty: everything.

    :raises SetUpRefused: an entry is not one of the known ones, or stands twice.
    """
    allowed = sorted(known)
    entries = values if isinstance(values, list | tuple) else [values]
    if any(entry not in allowed for entry in entries) or len({*entries}) != len(entries):
        raise SetUpRefused(f"{name}: a list, each once, of {', '.join(allowed)}.")
    return list(entries)


def currencies() -> list[str]:
    """Return the currencies that this installation takes."""
    return [one for one in sorted(money.CURRENCIES) if money.is_supported(one)]
