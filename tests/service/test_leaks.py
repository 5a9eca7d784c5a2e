"""I10: a card number or CVC is in no table, log line, event, answer or cache in clear.

Payments of every fate are made, then everything that was written anywhere is searched.
"""

import base64
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connections

from core.keyring.file import content_of
from core.redis import client as redis
from tests.stage.bank_transport import BankTransport
from tests.stage.books import every_row
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment, payment_method
from tests.stage.leaks import (
    APPROVED,
    CRASHED,
    CVC,
    DEBIT,
    DECLINED,
    GARBLED,
    HELD,
    MISTYPED,
    NAMED_CVC,
    NOT_LISTED,
    NOT_SEALED,
    PENDING,
    SILENT,
    WRONG_CVC,
    Written,
    every_line,
    stored,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# --- Making payments of every fate ------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    with every_line() as stream:
        yield stream


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
        lines=log.getvalue().splitlines(),
        answers=[f"{answer.headers}\n{json.dumps(answer.body)}" for answer in answers],
        **stored(),
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
        broken.setattr(
            "vault.cards.fingerprints", lambda *_args: [f"no fingerprint of {NOT_SEALED}"]
        )
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
    ring = content_of(Path(settings.KEYRING_FILE))
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
