"""The hashes of version 512: values one behind the other, without separators.

So a digit may move from a value to its neighbour without a change of the hash: where one is read,
its form has to be exact.
"""

import hashlib
import hmac
from collections.abc import Mapping

TERMINAL_DIGITS = 9
# The names that a returned form signs, in their order. The browser brings a list of names too;
# whatever it says, only this one counts.
RETURNED = (
    "clientid", "oid", "authcode", "procreturncode", "response", "mdstatus", "cavv", "eci", "md",
    "rnd",
)  # fmt: skip
RETURNED_LIST = "".join(f"{name}:" for name in RETURNED)
FORM = (
    "terminalid", "orderid", "txnamount", "txncurrencycode", "successurl", "errorurl", "txntype",
    "txninstallmentcount",
)  # fmt: skip


def security(password: str, terminal_id: str) -> str:
    """Return the hash that stands for a user's password in all others."""
    text = password + terminal_id.zfill(TERMINAL_DIGITS)
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest().upper()


def of(*values: str) -> str:
    """Return the hash over some values and the secrets behind them."""
    return hashlib.sha512("".join(values).encode()).hexdigest().upper()


def of_form(fields: Mapping[str, str], store_key: str, secret: str) -> str:
    """Return the hash of the form that the payer's browser posts to the gate.

    :param secret: the `security` of the user who sells.
    """
    return of(*(fields[name] for name in FORM), store_key, secret)


def of_return(fields: Mapping[str, str], store_key: str) -> str:
    """Return the hash of a form that a browser brought.

    :param fields: values as one character a byte (latin-1).
    """
    values = (fields.get(name, "").encode("latin-1") for name in RETURNED)
    return hashlib.sha512(b"".join([*values, store_key.encode()])).hexdigest().upper()


def is_same(made: str, told: str) -> bool:
    """Compare two hashes in constant time."""
    return hmac.compare_digest(made.encode(), told.encode())
