"""I10: a card number or CVC is in no table, log line, event, answer or cache in clear.

Payments of every fate are made, then everything that was written anywhere is searched.
"""

import base64
import hashlib
import io
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_plus

import pytest
from django.conf import settings
from django.db import connections

from config.logs import LineHandler, logging_config
from core.redis import client as redis
from tests.stage.bank_transport import BankTransport
from tests.stage.books import every_row, everything_cached
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment, payment_method

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

APPROVED, DECLINED, PENDING = "5526080000000006", "4000000000009995", "4000001100000033"
SILENT, HELD, DEBIT = "4000001100000017", "5400010000000004", "4766620000000001"
GARBLED, CRASHED, NOT_SEALED = "4100000000000019", "4111111111111111", "9792030000000000"
NOT_LISTED, MISTYPED = "4929111111111113", "4242424242424241"
NUMBERS = (
    APPROVED, DECLINED, PENDING, SILENT, HELD, DEBIT, GARBLED, CRASHED, NOT_SEALED,
    NOT_LISTED, MISTYPED,
)  # fmt: skip
CVC = "937"
WRONG_CVC = "937937"


@dataclass
class Written:
    """Everything that the service wrote, by the place where it lies."""

    rows: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)

    def leaks(self, *secrets: str) -> list[str]:
        """Return what shows a card's number, a CVC, or one of the secrets."""
        wanted = re.compile("|".join([LEAK.pattern, *(s for x in secrets for s in _spellings(x))]))
        return [f"{place}: {text[:200]}" for place, text in self.texts() if wanted.search(text)]

    def texts(self) -> Iterator[tuple[str, str]]:
        for place in ("rows", "lines", "answers", "cached"):
            for text in getattr(self, place):
                yield place, _with_bytes_shown(text)


def _spellings(number: str) -> Iterator[str]:
    """Yield the ways a number may be written down, as patterns."""
    raw = number.encode()
    yield r"[^0-9A-Za-z]{0,3}".join(map(re.escape, number))
    yield re.escape(number[::-1])
    yield raw.hex()
    yield from _base64(raw)
    yield from _base64(raw[::-1])
    for name in ("md5", "sha1", "sha256", "sha512"):
        digest = hashlib.new(name, raw, usedforsecurity=False)
        yield digest.hexdigest()
        yield re.escape(base64.b64encode(digest.digest()).decode().rstrip("="))


def _base64(raw: bytes) -> Iterator[str]:
    """Yield what is surely part of the base64 of any text that holds the bytes."""
    for before in range(3):
        encoded = base64.b64encode(b"x" * before + raw).decode()
        first, last = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        yield re.escape(encoded[first:last])


# A code of three digits is looked for where it stands alone, and is no line's number, no
# request's duration and no row's number: a long run counts past 937.
_NUMBERED = r"(?<!line )(?<!duration_ms\": )(?<!id\": )"
_ALONE = rf"(?<![0-9A-Za-z.]){_NUMBERED}(?:{CVC}|{WRONG_CVC})(?![0-9A-Za-z.])"
LEAK = re.compile(
    "|".join([_ALONE, *(spelling for number in NUMBERS for spelling in _spellings(number))])
)


def _with_bytes_shown(text: str) -> str:
    shown = [bytes.fromhex(found).decode("latin-1") for found in _BYTEA.findall(text)]
    return "\n".join([text, unquote_plus(text), *shown])


# As a JSON's key, however often escaped, as a form's, or as a name in Redis.
NAMED_CVC = re.compile(r"""(?i)\b(?:cvc|cvv)2?\\*["']\s*:|\b(?:cvc|cvv)2?(?:%5D|\])?=|^cvc:""")
_BYTEA = re.compile(r"\\x((?:[0-9a-f]{2})+)")


# --- Making payments of every fate ------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Return the text of all log lines from DEBUG on, written by the formatter of production."""
    options = logging_config(level="DEBUG")["formatters"]["json"]
    handler = LineHandler(io.StringIO())
    handler.setFormatter(options.pop("()")(**options))
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel("DEBUG")
    yield handler.stream
    root.setLevel(level)
    root.removeHandler(handler)


def of(number: str, **changes: Any) -> dict[str, Any]:
    return payment(payment_method_data=payment_method(number, cvc=CVC), **changes)


@pytest.fixture
def written(
    acme: ApiClient, bank: BankTransport, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> Written:
    """All that is left after payments that ended in every way there is."""
    redis().flushdb()
    answers = [*_ended(acme), *_refused(acme), *_broken(acme, bank, monkeypatch)]
    answers += [acme.get("/v1/events?limit=100"), acme.get("/v1/balance")]
    return Written(
        rows=[row for alias in ("default", "bank") for row in every_row(alias)],
        lines=log.getvalue().splitlines(),
        answers=[f"{answer.headers}\n{json.dumps(answer.body)}" for answer in answers],
        cached=list(everything_cached()),
    )


def _ended(acme: ApiClient) -> Iterator[Answer]:
    for number in (APPROVED, DECLINED, PENDING, SILENT):
        yield acme.post("/v1/payment_intents", of(number), idempotency_key=number[:9])
    # The key's answer again, and the key for another request.
    yield acme.post("/v1/payment_intents", of(APPROVED), idempotency_key=APPROVED[:9])
    yield acme.post("/v1/payment_intents", of(HELD), idempotency_key=APPROVED[:9])
    # Two that wait: one for its confirmation, with a CVC held; one for 3-D Secure.
    yield acme.post("/v1/payment_intents", of(HELD, confirm=False))
    yield acme.post("/v1/payment_intents", of(DEBIT, return_url="https://acme.example/"))


def _refused(acme: ApiClient) -> Iterator[Answer]:
    wrong = payment_method(APPROVED, cvc=WRONG_CVC)
    for body in (
        of(APPROVED, amount="1"),
        of(APPROVED, description=f"paid with {APPROVED}"),
        of(APPROVED, metadata={APPROVED: "x"}),
        of(NOT_LISTED),
        of(MISTYPED),
        payment(payment_method_data=wrong),
        json.dumps(of(APPROVED)).encode()[:-1],
    ):
        yield acme.post("/v1/payment_intents", body)
    yield acme.post("/v1/payment_intents", of(APPROVED), idempotency_key=APPROVED)
    yield acme.post("/v1/payment_intents", of(APPROVED), idempotency_key=f"Bearer{acme.key}")
    yield acme.get(f"/v1/payment_intents/a%20{acme.key}?a=x{acme.key}")
    yield acme.get(f"/v1/payment_intents/{APPROVED}?number={APPROVED}")
    yield acme.get(f"/{APPROVED}")


def _broken(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Answer]:
    for fault in ("garble", "cut_before", "cut_after", "delay"):
        bank.fault, bank.garbled = fault, f'{{"card": "{GARBLED}", "cvc": "{CVC}"'.encode()
        yield acme.post("/v1/payment_intents", of(GARBLED))
    bank.fault = None
    with monkeypatch.context() as broken:
        broken.setattr("acquirers.sandbox.answers.authorization", _crash)
        yield acme.post("/v1/payment_intents", of(CRASHED))
    with monkeypatch.context() as broken:
        # The database refuses the row, and prints it.
        broken.setattr("vault.cards.fingerprint", lambda *_args: f"no fingerprint of {NOT_SEALED}")
        yield acme.post("/v1/payment_intents", of(NOT_SEALED))


def _crash(told: dict[str, Any], *_rest: Any) -> None:
    raise RuntimeError(f"{told} of 4111 1111 1111 1111 / {CRASHED}")


# --- Searching --------------------------------------------------------------------------------


def test_nothing_that_was_written_shows_a_number_a_code_or_a_key(
    written: Written, acme: ApiClient
) -> None:
    counts = {place: len(found) for place, found in vars(written).items()}
    print("searched", counts)  # noqa: T201

    assert written.leaks(acme.key, *_keys_of_the_ring()) == []
    assert counts["rows"] > 100
    assert counts["lines"] > 30
    assert counts["answers"] > 20
    assert counts["cached"] == 1


def test_a_planted_key_is_found(acme: ApiClient) -> None:
    for secret in (acme.key, *_keys_of_the_ring()):
        for written_as in (secret, quote(secret, safe=""), _in_base64(secret)):
            assert Written(lines=[f'{{"event": "{written_as}"}}']).leaks(secret)


def _in_base64(secret: str) -> str:
    return base64.b64encode(f"the key is {secret}.".encode()).decode()


def test_nothing_that_is_stored_has_a_place_for_a_cvc(written: Written) -> None:
    stored = [text for place, text in written.texts() if place in ("rows", "cached")]

    assert [text for text in stored if NAMED_CVC.search(text)] == []
    assert NAMED_CVC.search(json.dumps({"card": json.dumps({"cvc": "123"})}))


def _keys_of_the_ring() -> list[str]:
    ring = json.loads(Path(settings.KEYRING_FILE).read_text())
    return [*ring["encryption"].values(), *ring["mac"].values(), ring["cvc"]]


def test_the_payments_ended_in_every_way(written: Written) -> None:
    text = "\n".join(written.answers)

    for fate in ("succeeded", "processing", "requires_confirmation",
                 "insufficient_funds", "processing_error", "card_not_supported",
                 "incorrect_number", "invalid_cvc", "card_data_not_allowed", "card_data_in_url",
                 "idempotency_key_invalid", "idempotency_key_reused", "body_invalid",
                 "internal_error"):  # fmt: skip
        assert f'"{fate}"' in text, fate
    assert "Failing row contains" in "\n".join(written.lines)
    assert "RuntimeError" in "\n".join(written.lines)


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "planted",
    [
        APPROVED,
        f"card {APPROVED}.",
        "5526 0800 0000 0006",
        "5-5-2-6-0-8-0-0-0-0-0-0-0-0-0-6",
        APPROVED[::-1],
        APPROVED.encode().hex(),
        base64.b64encode(f'{{"number": "{APPROVED}"}}'.encode()).decode(),
        hashlib.sha256(APPROVED.encode()).hexdigest(),
        CVC,
    ],
)
def test_a_planted_number_is_found_wherever_it_lies(acme: ApiClient, planted: str) -> None:
    acme.post("/v1/customers", {"metadata": {"note": "harmless"}})
    assert Written(rows=list(every_row("default"))).leaks() == []

    with connections["default"].cursor() as cursor:
        cursor.execute("UPDATE customers_customer SET metadata = %s", [json.dumps({"n": planted})])
        cursor.execute("UPDATE merchants_apikey SET hash = %s", [f"1 {planted}".encode()[:32]])

    places = " ".join(Written(rows=list(every_row("default"))).leaks())
    assert "customers_customer" in places
    assert Written(lines=[f'{{"event": "{planted}"}}']).leaks()
    assert len(planted) > 30 or "merchants_apikey" in places
