"""The hashes of version 512: hexadecimal in capitals, over values without separators."""

import hashlib

PADDED = 9


def security(password: str, terminal_id: str) -> str:
    """Return the hash of a password; only here the terminal's number is padded."""
    text = password + terminal_id.zfill(PADDED)
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest().upper()


def hashed(*values: str) -> str:
    """Return the hash of values, one behind the other."""
    return hashlib.sha512("".join(values).encode()).hexdigest().upper()
