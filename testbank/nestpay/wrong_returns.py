"""The signature of the gate's return, and the ways in which a return may be wrong."""

import base64
import hashlib

from testbank.nestpay import hashes
from testbank.protocols import wrong_returns

VERSION_1 = ("clientid", "oid", "mdStatus", "cavv", "eci", "md", "rnd")


def signed(wrong: str, fields: dict[str, str], store_key: str) -> dict[str, str]:
    """Return the fields with their signature, and with what is wrong about them."""
    fields = wrong_returns.changed(
        wrong, fields, amount={"amount": "1.00"}, md_status="mdStatus", to_come=1
    )
    encoding = fields["encoding"]
    # As browsers do with letters that an encoding has not.
    texts = {name: text.encode(encoding, "xmlcharrefreplace") for name, text in fields.items()}
    key = "another key" if wrong == "wrong_hash" else store_key
    return _after(wrong, {**fields, "HASH": hashes.hashed(texts, key)}, store_key)


def _after(wrong: str, fields: dict[str, str], store_key: str) -> dict[str, str]:
    match wrong:
        case "empty_hashparams":
            return {**fields, "HASHPARAMS": "", "HASHPARAMSVAL": "", "HASH": ""}
        case "national_id":
            return {**fields, "NATIONALIDNO": wrong_returns.NATIONAL_ID}
        case "old_hash":
            values = "".join(fields[name] for name in VERSION_1)
            digest = hashlib.sha1((values + store_key).encode(), usedforsecurity=False).digest()
            names = ":".join([*VERSION_1, ""])
            signature = base64.b64encode(digest).decode()
            old = {"HASHPARAMS": names, "HASHPARAMSVAL": values, "HASH": signature}
            return {**fields, **old, "hashAlgorithm": "ver1"}
    return fields
