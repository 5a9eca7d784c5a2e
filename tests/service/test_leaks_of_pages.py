"""I10 at payment pages: numbers and codes typed into right and wrong fields lie nowhere in clear.

Payers type, press and are refused in every way, then everything that was written is searched.
"""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from core.redis import client as redis
from payments.checkout.models import CheckoutSession
from payments.checkout.tasks import destroy_held_cards
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import expire_after, opened
from tests.stage.client import ApiClient
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
from tests.stage.payment_pages import CARD, FORM, TYPED, Payer, Shown
from tests.stage.plans import agree, plan
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NETWORK = "203.0.113.77"
TEXTS = tuple(name for name in TYPED if name not in CARD)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    with every_line() as stream:
        yield stream


@pytest.fixture
def payer() -> Payer:
    payer = Payer()
    payer.browser.defaults["REMOTE_ADDR"] = NETWORK
    return payer


@pytest.fixture
def written(
    acme: ApiClient,
    bank: BankTransport,
    payer: Payer,
    log: io.StringIO,
    monkeypatch: pytest.MonkeyPatch,
) -> Written:
    """All that is left after payers have typed cards everywhere."""
    redis().flushdb()
    pages = [
        *_pressed(acme, payer), *_in_parts(acme, payer), *_misplaced(acme, payer),
        *_around_the_form(acme, payer), *_broken(acme, payer, bank, monkeypatch),
    ]  # fmt: skip
    answers = [json.dumps(acme.get("/v1/events?limit=100").body)]
    return Written(
        lines=log.getvalue().splitlines(),
        answers=[*answers, *(f"{page.headers}\n{page.source}" for page in pages)],
        **stored(),
    )


def _press(shop: ApiClient, payer: Payer, **typed: str) -> Iterator[Shown]:
    """Type into the form of a session of its own; yield the answer, and the page that follows."""
    pressed = payer.press(payer.open(opened(shop)["url"]), **{"cvc": CVC, **typed})
    yield pressed
    yield payer.follow(pressed) if "/3ds/" not in pressed.headers.get("Location", "") else pressed


def _pressed(acme: ApiClient, payer: Payer) -> Iterator[Shown]:
    for number in (APPROVED, DECLINED, PENDING, SILENT, NOT_LISTED, MISTYPED, DEBIT):
        yield from _press(acme, payer, number=number)
    # Right in itself, and held while another field is wrong.
    yield from _press(acme, payer, number=HELD, email="")
    yield from _press(acme, payer, number=APPROVED, cvc=WRONG_CVC)


def _in_parts(acme: ApiClient, payer: Payer) -> Iterator[Shown]:
    """Choose installments, and leave a second page open at the choice."""
    agree(acme.merchant, plan(2), plan(3, 275))
    for count in ("3", "none"):
        asked = payer.press(payer.open(opened(acme)["url"]), number=APPROVED, cvc=CVC)
        assert "One payment" in asked.text
        yield asked
        yield payer.press(asked, installments=count)
    agree(acme.merchant)


def _misplaced(acme: ApiClient, payer: Payer) -> Iterator[Shown]:
    """Type numbers and codes into each wrong field."""
    for name in TEXTS:
        yield from _press(acme, payer, **{name: HELD})
        yield from _press(acme, payer, **{name: f"x {HELD[:4]} {HELD[4:10]}-{HELD[10:]}"})
    for name in ("name", "email", "line1", "city", "number", "exp_month", "exp_year"):
        yield from _press(acme, payer, **{name: CVC})
    for name in ("cvc", "exp_month", "exp_year"):
        yield from _press(acme, payer, **{name: HELD})
    form = payer.open(opened(acme)["url"])
    for extra in ("note_2", "installments", "form", "number", "unknown", HELD):
        yield payer.send(form.action, {**form.filled(cvc="1"), extra: HELD})


def _around_the_form(acme: ApiClient, payer: Payer) -> Iterator[Shown]:
    """Send cards where no form is: address, headers, cookies, bodies of another kind."""
    form = payer.open(opened(acme)["url"])
    fields = form.filled(number=HELD, cvc=CVC)
    for query in (f"?number={HELD}&cvc={CVC}", f"?locale={HELD}", f"?{HELD}"):
        yield payer.open(form.action + query)
        yield payer.send(form.action + query, form.filled(cvc="1"))
    for path in (f"/pay/{HELD}", f"{form.action}{HELD}", f"{form.action}/{HELD}"):
        yield payer.open(path)
        yield payer.send(path, fields)
    for kind in ("application/json", "multipart/form-data; boundary=x", f"{FORM}; charset=latin1"):
        yield payer.send(form.action, json.dumps(fields).encode(), kind)
    yield payer.send(form.action, f"number={HELD}&cvc={CVC}&x=%ff".encode())
    payer.browser.cookies["card"] = HELD
    for name in ("Referer", "User-Agent", "X-Card", "Request-Id", "Idempotency-Key", "Origin"):
        payer.headers[name] = HELD
    yield payer.open(form.action)
    yield payer.press(form, cvc="1")
    payer.headers["Sec-Fetch-Site"] = "cross-site"
    yield payer.press(form)
    payer.browser.cookies.clear()
    payer.headers = Payer().headers


def _broken(
    acme: ApiClient, payer: Payer, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shown]:
    for fault in ("garble", "cut_before", "cut_after", "delay"):
        bank.fault, bank.garbled = fault, f'{{"card": "{GARBLED}", "cvc": "{CVC}"'.encode()
        yield from _press(acme, payer, number=GARBLED)
    bank.fault = None
    with monkeypatch.context() as broken:
        broken.setattr("acquirers.sandbox.answers.authorization", _crash)
        yield from _press(acme, payer, number=CRASHED)
    with monkeypatch.context() as broken:
        # The database refuses the row, and prints it.
        broken.setattr(
            "vault.cards.fingerprints", lambda *_args: [f"no fingerprint of {NOT_SEALED}"]
        )
        yield from _press(acme, payer, number=NOT_SEALED)


def _crash(told: dict[str, Any], *_rest: Any) -> None:
    raise RuntimeError(f"{told} of 4111 1111 1111 1111 / {CRASHED}")


def test_nothing_that_a_payer_typed_is_written_anywhere_in_clear(written: Written) -> None:
    counts = {place: len(found) for place, found in vars(written).items()}
    networks = set(Attempt.objects.values_list("network_fingerprint", flat=True))
    print("searched", counts)  # noqa: T201

    assert written.leaks() == []
    kept = [text for place, text in written.texts() if place in ("rows", "cached")]
    assert [text for text in kept if NAMED_CVC.search(text)] == []
    # Of the payer's address the rows have a keyed fingerprint alone.
    assert [row for row in written.rows if "203.0.113" in row] == []
    assert (len(networks), None in networks) == (1, False)
    assert counts["rows"] > 300
    assert counts["lines"] > 100
    assert counts["answers"] > 100
    assert counts["cached"] > 2  # Codes of held cards, and counts.
    said = "\n".join(written.answers)
    for fate in ("Payment complete", "Your bank did not accept", "Please do not pay again",
                 "This is a sandbox", "a digit is missing", "One payment", "Choose how to pay",
                 "Type no card number", "cannot be read", "Use another card"):  # fmt: skip
        assert fate in said, fate
    assert "RuntimeError" in "\n".join(written.lines)
    assert "Failing row contains" in "\n".join(written.lines)


def test_held_cards_are_destroyed_within_twenty_minutes(
    acme: ApiClient, bank: BankTransport, payer: Payer
) -> None:
    held = [page for number in (APPROVED, HELD) for page in _press(acme, payer, number=number,
                                                                  email=CVC)]  # fmt: skip
    assert SealedCard.objects.filter(destroyed_at=None).count() == len(held) // 2 == 2

    expire_after(20 * 60)
    destroy_held_cards()

    assert not CheckoutSession.objects.exclude(held_card=None).exists()
    assert all(card.is_destroyed for card in SealedCard.objects.all())


def test_a_planted_number_is_found_in_each_place() -> None:
    for planted in (HELD, f"city={CVC}", f"%20{HELD[:4]}+{HELD[4:8]}+{HELD[8:12]}+{HELD[12:]}"):
        for place in ("rows", "lines", "answers", "cached"):
            assert Written(**{place: [planted]}).leaks()
