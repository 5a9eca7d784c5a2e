"""The signature of the gate's return, and the ways in which a return may be wrong."""

import base64
import hashlib

from testbank.garanti import hashes
from testbank.protocols import wrong_returns

SIGNED = (
    "clientid", "oid", "authcode", "procreturncode", "response", "mdstatus", "cavv", "eci", "md",
    "rnd",
)  # fmt: skip
ANOTHER_AMOUNT = {"txnamount": "1"}
SYSTEM_ERROR = {"mdstatus": "7", "mderrormessage": "Sistem hatasi"}
# hash, hashparams, hashparamsval.
OF_THE_SIGNATURE = 3


def signed(wrong: str, fields: dict[str, str], store_key: str) -> dict[str, str]:
    """Return the fields with their signature, and with what is wrong about them."""
    fields = wrong_returns.changed(
        wrong, fields, amount=ANOTHER_AMOUNT, md_status="mdstatus", to_come=OF_THE_SIGNATURE
    )
    key = "another key" if wrong == "wrong_hash" else store_key
    return _after(wrong, fields | _signature(fields, SIGNED, key), store_key)


def _signature(fields: dict[str, str], names: tuple[str, ...], key: str) -> dict[str, str]:
    values = "".join(fields.get(name, "") for name in names)
    return {
        "hashparams": "".join(f"{name}:" for name in names),
        "hashparamsval": values,
        "hash": hashes.hashed(values, key),
    }


def _after(wrong: str, fields: dict[str, str], store_key: str) -> dict[str, str]:
    match wrong:
        case "system_error":
            unsigned = dict.fromkeys(("hash", "hashparams", "hashparamsval"))
            return {n: text for n, text in fields.items() if n not in unsigned} | SYSTEM_ERROR
        case "empty_hashparams":
            return fields | dict.fromkeys(("hash", "hashparams", "hashparamsval"), "")
        case "short_hashparams":
            return fields | _signature(fields, SIGNED[:2], store_key)
        case "other_order_of_hashparams":
            return fields | _signature(fields, SIGNED[::-1], store_key)
        case "moved_digit":
            # Values have no separators: the same text, and the same hash.
            moved = fields["oid"][-1] + fields["authcode"]
            return {**fields, "oid": fields["oid"][:-1], "authcode": moved}
        case "national_id":
            return {**fields, "NATIONALIDNO": wrong_returns.NATIONAL_ID}
        case "old_hash":
            text = fields["hashparamsval"] + store_key
            digest = hashlib.sha1(text.encode(), usedforsecurity=False).digest()
            return {**fields, "hash": base64.b64encode(digest).decode()}
    return fields
