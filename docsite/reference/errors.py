"""The page of all error codes: each with its cause, an example, and what to do."""

import re
from typing import Any

# Together they load every room, and so all refusals.
import config.middleware
import config.urls  # noqa: F401
from core.errors import type_of
from core.rest.error_codes import Entry, entries
from docsite.reference import endpoints, fields, markdown, objects, openapi

# The written page ends with a list of the codes, which the entries take the place of.
LIST = re.compile(r"^\| code \| status \|.*", re.MULTILINE | re.DOTALL)
# A link to an object's page from another one.
OBJECT = re.compile(r"\]\(([\w.]+\.md)\)")
# An example of a code that is about any parameter names one.
PARAMS = {
    "parameter_missing": "currency",
    "parameter_invalid": "amount[gte]",
    "parameter_unknown": "capture_metod",
    "amount_too_small": "amount",
    "amount_too_large": "amount",
    "currency_not_supported": "currency",
    "incorrect_number": "payment_method_data[card][number]",
    "invalid_expiry_month": "payment_method_data[card][exp_month]",
    "invalid_expiry_year": "payment_method_data[card][exp_year]",
    "expired_card": "payment_method_data[card][exp_year]",
    "invalid_cvc": "payment_method_data[card][cvc]",
    "header_repeated": "PF-Version",
    "card_data_in_url": "q",
    "card_data_not_allowed": "description",
}
# A code of more operations than this may come from any of them.
FEW = 12


def page(written: str) -> str:
    """Return the page.

    :param written: docs/errors.md: what is said about all errors together.
    :raises ValueError: it has no list of codes to be replaced.
    :raises KeyError: a code is not explained.
    """
    if not LIST.search(written):
        raise ValueError("docs/errors.md has no list of codes.")
    known = {entry.code for entry in entries()}
    if unknown := {code for one in openapi.operations() for code in one.codes} - known:
        raise KeyError(f"No refusal has the codes {sorted(unknown)}: is every room loaded?")
    parts = [_entry(entry) for entry in entries()]
    return "\n".join([LIST.sub("", written) + _fields(), _shared(), "## The codes\n", *parts])


def _fields() -> str:
    """Return the table of the fields of a refusal; the objects that it links are further below."""
    shape = openapi.document()["components"]["schemas"]["Error"]
    table = objects.table_of_fields(list(fields.of(shape)))
    return "## The fields\n\n" + OBJECT.sub(r"](reference/objects/\1)", table)


def _shared() -> str:
    """Return the sections about the codes that need not be said for each operation."""
    parts = []
    for name, codes in (
        ("Every request", endpoints.codes_of_all()),
        ("Every POST", endpoints.codes_of_posts()),
    ):
        links = ", ".join(f"[`{code}`](#{code})" for code in sorted(codes))
        parts.append(f"## {name}\n\n{name} may be refused with {links}.\n")
    return "\n".join(parts)


def _entry(entry: Entry) -> str:
    if entry.explained is None:
        raise KeyError(f"{entry.code} is not explained: see core.errors.Explained.")
    cause, remedy = entry.explained
    kind = type_of(entry.code, entry.http_status)
    retry = ", with `Retry-After`" if entry.http_status in (409, 429, 503) else ""
    return "\n".join(
        [
            markdown.heading(3, entry.code, anchor=entry.code),
            f"HTTP {entry.http_status}, `{kind}`{retry}. {cause}\n",
            f"**What to do:** {remedy}\n",
            markdown.json_block(_example(entry)),
            _answered_by(entry),
        ]
    )


def _example(entry: Entry) -> dict[str, Any]:
    recorded = openapi.refusal_with(entry.code)
    if recorded:
        return recorded
    error = {
        "type": type_of(entry.code, entry.http_status),
        "code": entry.code,
        "message": entry.message,
        "param": entry.param or PARAMS.get(entry.code),
        "doc_url": f"{openapi.BASE}/docs/errors#{entry.code}",
        "request_id": "req_0VbcB44IXsVu4Kvuplw7ZVQO",
    }
    return {"error": error}


def _answered_by(entry: Entry) -> str:
    """Say which operations refuse with the code."""
    found = [one for one in openapi.operations() if entry.code in one.codes]
    if found and len(found) <= FEW:
        places = ", ".join(f"`{one.method} {one.path}`" for one in found)
        return f"Operations that refuse with it: {places}.\n"
    of_posts = found and {one.method for one in found} == {"POST"}
    return f"Any {'POST ' if of_posts else ''}request may be refused with it.\n"
