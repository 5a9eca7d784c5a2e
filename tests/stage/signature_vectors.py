"""`docs/webhook-signatures.json`: right and wrong headers, and the same for another clock."""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from django.conf import settings

FILE = Path(settings.BASE_DIR) / "docs" / "webhook-signatures.json"
# All times of the list, in any spelling, lie in these thousand seconds.
NEAR_NOW = re.compile(r"1795286\d{3}")
ASCII_DIGITS = {ord(digit): str(number) for number, digit in enumerate("٠١٢٣٤٥٦٧٨٩")}
OTHER_DIGITS = {ord(ascii_digit): chr(digit) for digit, ascii_digit in ASCII_DIGITS.items()}
SIGNATURE = re.compile(r"[0-9a-f]{63,64}")


@dataclass(frozen=True)
class Vectors:
    """`headers` and `verdicts` are by what is right or wrong about them."""

    body: bytes
    secret: str
    previous_secret: str
    now: int
    headers: dict[str, str]
    verdicts: dict[str, bool]

    def header_at(self, now: int, what: str) -> str:
        """Return the header as it would have been at another time: as right, or as wrong."""
        header = self.headers[what]
        signed = self._moved_signatures(now)
        header = SIGNATURE.sub(lambda found: signed.get(found[0], found[0]), header)
        return ",".join(
            part if part.startswith("v1") else self._moved(part, now) for part in header.split(",")
        )

    def digest(self, time_text: str, secret: str) -> str:
        signed = time_text.encode() + b"." + self.body
        return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()

    def _moved_signatures(self, now: int) -> dict[str, str]:
        """Return the signatures that are right for one of the times, and what they become."""
        times = {
            part[2:]
            for header in self.headers.values()
            for part in header.split(",")
            if part.startswith("t=")
        }
        moved = {}
        for text, secret in product(times, (self.secret, self.previous_secret)):
            right, becomes = self.digest(text, secret), self.digest(self._moved(text, now), secret)
            moved |= {right: becomes, right[:-1]: becomes[:-1]}
        return moved

    def _moved(self, text: str, now: int) -> str:
        """Return a text with its time moved, in ASCII's digits or in others."""

        def move(found: re.Match[str]) -> str:
            return str(int(found[0]) + now - self.now)

        in_ascii = text.translate(ASCII_DIGITS)
        moved = NEAR_NOW.sub(move, in_ascii)
        return moved if in_ascii == text else moved.translate(OTHER_DIGITS)


def read() -> Vectors:
    listed = json.loads(FILE.read_text())
    headers = listed.pop("headers")
    return Vectors(
        **{**listed, "body": listed["body"].encode()},
        headers={entry["what"]: entry["header"] for entry in headers},
        verdicts={entry["what"]: entry["is_genuine"] for entry in headers},
    )
