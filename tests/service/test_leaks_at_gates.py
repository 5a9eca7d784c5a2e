"""I10 at a bank that takes the card from the payer's browser: it is in that one form alone.

Payments end in several ways. All that was written anywhere is searched for their numbers and codes,
the terminal's secrets and the proofs (`md`), and so is every page but the form for the bank.
"""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client

from core.redis import client as redis
from testbank import misbehaviours
from testbank.garanti import terminals as garanti
from testbank.nestpay import terminals as nestpay
from tests.stage import protocol_gate
from tests.stage.bank_days import begin_at_noon
from tests.stage.books import every_row
from tests.stage.client import ApiClient
from tests.stage.factories import RETURN_URL, payment, payment_method, three_d_secure
from tests.stage.garanti.way import garanti_behind
from tests.stage.leaks import APPROVED, CVC, DEBIT, DECLINED, GARBLED, Written, every_line, stored
from tests.stage.nestpay.way import nestpay_behind
from tests.stage.payer import FormOnPage, Page
from tests.stage.protocol_way import ProtocolWay
from tests.stage.threeds import return_to

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FORM = "application/x-www-form-urlencoded"


class Door(NamedTuple):
    """A protocol's doors, and its names of the card and of the hash."""

    behind: Callable[[], AbstractContextManager[ProtocolWay]]
    secrets: tuple[str, ...]
    card: tuple[str, str]
    hash: str
    refusal: str


_G = garanti.FIRST
DOORS = {
    "nestpay": Door(
        nestpay_behind, (nestpay.FIRST.password, nestpay.FIRST.store_key), ("pan", "cv2"), "HASH",
        "CORE-2202",
    ),
    "garanti": Door(
        garanti_behind, (_G.password, _G.refund_password, _G.store_key),
        ("cardnumber", "cardcvv2"), "hash", "0651",
    ),
}  # fmt: skip


@pytest.fixture(params=DOORS.values(), ids=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    chosen: Door = request.param
    return chosen


@pytest.fixture
def bank(db: None, door: Door) -> Iterator[ProtocolWay]:
    with door.behind() as way:
        begin_at_noon()
        yield way


class Sweep:
    """Walks of payers: all that the service showed meanwhile, and the proofs that they brought."""

    def __init__(self, acme: ApiClient, door: Door) -> None:
        self._acme, self._door = acme, door
        self.shown: list[str] = []
        self.forms: list[FormOnPage] = []
        self.proofs: set[str] = set()

    def ask(self, number: str, **changes: object) -> dict[str, object]:
        method = payment_method(number, cvc=CVC)
        sent = payment(payment_method_data=method, **changes)
        answer = self._acme.post("/v1/payment_intents", sent)
        self.shown.append(f"{answer.headers}\n{json.dumps(answer.body)}")
        return dict(answer.body)

    def walk(self, number: str, button: str = "Approve") -> None:
        """Go through 3-D Secure; bring the answer once forged, and then as it is."""
        paid = self.ask(number, return_url=RETURN_URL, **three_d_secure("required"))
        browser, path = Client(), urlsplit(_link(paid)).path
        self._note(browser.get(path))
        form = Page(200, {}, browser.post(path).content).form
        self.forms.append(form)
        back = protocol_gate.walk(form, button).fields
        # Not the xid: it is a payment's `transaction_id`, for its merchant to see.
        self.proofs |= {back[name] for name in ("md", "cavv") if back[name]}
        for fields in ({**back, self._door.hash: "x"}, back, back):
            sent = urlencode(fields)
            self._note(browser.generic("POST", return_to(str(paid["id"])), sent, FORM))
        self._note(browser.get(path))

    def _note(self, response: object) -> None:
        headers = getattr(response, "headers", {})
        content = getattr(response, "content", b"")
        self.shown.append(f"{dict(headers)}\n{content.decode()}")


def _link(paid: dict[str, object]) -> str:
    action = paid["next_action"]
    assert isinstance(action, dict), paid
    return str(action["redirect_to_url"]["url"])


@pytest.fixture
def swept(acme: ApiClient, bank: ProtocolWay, door: Door) -> tuple[Sweep, Written]:
    redis().flushdb()
    sweep = Sweep(acme, door)
    with every_line() as log:
        for number in (APPROVED, DECLINED):
            sweep.ask(number)
        for number, button in ((DEBIT, "Approve"), (APPROVED, "Reject"), (DECLINED, "Approve")):
            sweep.walk(number, button)
        _refuse_and_garble(sweep, bank, door)
        for path in ("/v1/events?limit=100", "/v1/payment_intents", "/v1/balance"):
            sweep.shown.append(json.dumps(acme.get(path).body))
    return sweep, Written(lines=_lines(log), answers=sweep.shown, **stored())


def _refuse_and_garble(sweep: Sweep, bank: ProtocolWay, door: Door) -> None:
    misbehaviours.plan(door.refusal)
    sweep.ask(APPROVED)
    bank.garbled = f"<Answer><Text>{GARBLED} {door.secrets[0]} {CVC}".encode()
    for fault in ("garble", "cut_after", "cut_before", "delay"):
        bank.fault = fault
        sweep.ask(GARBLED)
    bank.fault = None


def _lines(log: io.StringIO) -> list[str]:
    return log.getvalue().splitlines()


def test_nothing_that_a_payer_sends_to_the_bank_is_written_anywhere(
    swept: tuple[Sweep, Written], door: Door
) -> None:
    sweep, written = swept
    counts = {place: len(found) for place, found in vars(written).items()}
    print("searched", counts, "for", len(sweep.proofs), "proofs")  # noqa: T201

    assert written.leaks(*door.secrets) == []
    # The bank's own table has the cavv: it gave it out.
    own = Written(list(every_row("default")), written.lines, written.answers, written.cached)
    assert own.leaks(*sweep.proofs) == []
    assert (counts["rows"] > 100, counts["lines"] > 30, len(sweep.proofs)) == (True, True, 5)


def test_the_one_form_has_the_card_and_no_proof(swept: tuple[Sweep, Written], door: Door) -> None:
    sweep, _written = swept

    for form, number in zip(sweep.forms, (DEBIT, APPROVED, DECLINED), strict=True):
        assert [form.fields[name] for name in door.card] == [number, CVC]
    assert len({form.action for form in sweep.forms}) == 1
    texts = [" ".join(form.fields.values()) for form in sweep.forms]
    assert len(Written(answers=texts).leaks()) == 3
    assert not any(proof in text for proof in sweep.proofs for text in texts)


def test_a_planted_proof_is_found(acme: ApiClient, bank: ProtocolWay, door: Door) -> None:
    sweep = Sweep(acme, door)
    sweep.walk(DEBIT)

    for proof in sweep.proofs:
        assert Written(lines=[f'{{"event": "{proof}"}}']).leaks(proof)
        assert Written(rows=[f"a=1&md={proof}"]).leaks(proof)
