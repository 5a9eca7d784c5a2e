"""The return from the old bank's gate: only what is signed counts, whatever the browser brings."""

from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode

import pytest

from acquirers.gateway import AuthenticationRequest, AuthorizationRequest, Order
from acquirers.outcomes import Answer
from acquirers.three_d_secure import (
    AskTheBank,
    Authenticated,
    Forged,
    FormPost,
    NotAuthenticated,
    Return,
)
from core import clock
from core.cards import CardData
from merchants.models import Merchant
from tests.stage.oldbank.gate_walk import walk
from tests.stage.oldbank.gateway import FORM, OldBankGateway
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import spoil_credentials
from vault import cards as vault_cards
from vault.models import SealedCard

GOOD, DEBIT, CANNOT_START = "4242424242424242", "4766620000000001", "4151111111111112"
ALWAYS_FAILS = "4131111111111117"
CALLBACK = "https://pay.example/3ds/att_1.mac/return"

Walk = Callable[..., bytes]


def seal(order: Order, number: str) -> SealedCard:
    merchant = Merchant.objects.get(id=order.merchant_id)
    return vault_cards.seal(merchant.id, CardData(number, 12, 2034), now=clock.now())


@pytest.fixture
def walked(gateway: OldBankGateway, order: Order, old_bank: OldBank) -> Walk:
    """A payer's walk to the gate; it returns the body that the browser brings back."""

    def go(
        number: str = GOOD,
        button: str = "Approve",
        wrong: str | None = None,
        *,
        capture: bool = True,
    ) -> bytes:
        request = AuthenticationRequest(
            order=order,
            capture=capture,
            merchant_name="Acme <Store>",
            callback_url=CALLBACK,
            return_url="https://acme.example/back",
            sealed=seal(order, number),
            cvc="123",
        )
        begun = gateway.begin(request)
        assert isinstance(begun, FormPost)
        form = gateway.handoff(request, begun.url)
        assert form is not None
        if wrong:
            old_bank.misbehave(wrong, on="Return")
        back = walk(form.url, form.fields, button)
        assert back.url == CALLBACK
        return back.body

    return go


@pytest.fixture
def read(gateway: OldBankGateway, order: Order) -> Callable[[bytes], Return]:
    return lambda body: gateway.read_return(order, body, FORM)


def provide(gateway: OldBankGateway, order: Order, told: Return) -> Answer:
    """Ask for the money with the proof; the card's own data is not sent any more."""
    assert isinstance(told, Authenticated)
    request = AuthorizationRequest(
        order=order, capture=True, sealed=seal(order, GOOD), cvc=None, proof=told.proof
    )
    return gateway.authorize(request).answer


def changed(body: bytes, **changes: str | None) -> bytes:
    fields = {**dict(parse_qsl(body.decode(), keep_blank_values=True)), **changes}
    return urlencode({name: value for name, value in fields.items() if value is not None}).encode()


@pytest.mark.parametrize("number", [GOOD, DEBIT])
def test_a_payer_who_approved_is_charged_once(
    number: str, walked: Walk, read: Callable, gateway: OldBankGateway, order: Order
) -> None:
    told = read(walked(number))

    assert (told.md_status, told.eci, told.has_proof) == ("1", "05", True)
    assert provide(gateway, order, told) is Answer.APPROVED
    assert provide(gateway, order, told) is Answer.UNKNOWN


def test_a_proof_is_for_the_kind_of_payment_that_the_form_named(
    walked: Walk, read: Callable, gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    told = read(walked(capture=False))

    assert provide(gateway, order, told) is Answer.NOT_CHARGED
    assert old_bank.book() == []


def test_the_proof_shows_nothing(walked: Walk, read: Callable) -> None:
    told = read(walked())

    assert told.proof["cavv"] not in repr(told)


@pytest.mark.parametrize(("number", "button"), [(GOOD, "Reject"), (ALWAYS_FAILS, "Approve")])
def test_a_payer_who_did_not_authenticate_has_no_proof(
    number: str, button: str, walked: Walk, read: Callable
) -> None:
    told = read(walked(number, button))

    assert (told.md_status, told.has_proof) == ("0", False)


def test_a_proof_that_was_used_is_asked_about(
    walked: Walk, read: Callable, gateway: OldBankGateway, order: Order, old_bank: OldBank
) -> None:
    told = read(walked(button="Don't answer"))

    assert provide(gateway, order, told) is Answer.UNKNOWN
    assert provide(gateway, order, told) is Answer.UNKNOWN
    assert [line.state for line in old_bank.book()] == ["D"]


def test_a_card_that_cannot_begin_comes_back_unsigned(walked: Walk, read: Callable) -> None:
    assert read(walked(CANNOT_START)) == NotAuthenticated()


def test_a_bank_that_forgets_the_status_ends_the_try_only(walked: Walk, read: Callable) -> None:
    assert read(walked(wrong="no_md_status")) == NotAuthenticated()


def test_turkish_letters_in_another_encoding_are_verified_as_bytes(
    walked: Walk, read: Callable
) -> None:
    body = walked(wrong="turkish_letters")

    assert b"%DD" in body
    assert read(body).md_status == "1"


@pytest.mark.every_case("nothing that is forged may pass")
@pytest.mark.parametrize("wrong", ["wrong_hash", "empty_hashparams", "changed_amount"])
def test_a_return_that_the_bank_did_not_sign_whole_is_forged(
    wrong: str, walked: Walk, read: Callable
) -> None:
    with pytest.raises(Forged):
        read(walked(wrong=wrong))


@pytest.mark.every_case("nothing that is forged may pass")
@pytest.mark.parametrize(
    "changes",
    [
        {"mdstatus": "1"},
        {"amount": "1.00"},
        {"md": "another"},
        {"orderid": "0THER0RDER0THER0RDER"},
        {"terminal": "70000002"},
        {"hashparams": ""},
        {"hashparams": "mdstatus:md"},
        {"hashparams": None},
        {"hash": None},
        {"hash": ""},
        {"cavv": None},
        {"eci": None},
    ],
    ids=str,
)
def test_a_changed_return_is_forged(changes: dict, walked: Walk, read: Callable) -> None:
    body = walked(button="Reject")

    with pytest.raises(Forged):
        read(changed(body, **changes))


@pytest.mark.every_case("nothing that is forged may pass")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda body: body + b"&mdstatus=1",
        lambda body: body + b"&x=1" * 64,
        lambda body: body + b"&x=" + b"1" * 40_000,
        lambda body: b"",
        lambda body: b"\xff\x00=%zz&&&",
        lambda body: b'{"mdstatus": "1"}',
    ],
    ids=["twice", "many fields", "long", "empty", "no text", "json"],
)
def test_a_body_of_another_form_is_forged(spoil: Callable, walked: Walk, read: Callable) -> None:
    body = walked()

    with pytest.raises(Forged):
        read(spoil(body))


def test_a_terminal_whose_credentials_do_not_open_hands_off_no_card(
    gateway: OldBankGateway, order: Order
) -> None:
    spoil_credentials(order.terminal)
    request = AuthenticationRequest(
        order=order,
        capture=True,
        merchant_name="Acme",
        callback_url=CALLBACK,
        return_url=CALLBACK,
        sealed=seal(order, GOOD),
        cvc="123",
    )

    assert gateway.begin(request) is None
    assert gateway.handoff(request, "http://127.0.0.1:1/gate") is None


def test_a_return_that_cannot_be_verified_is_not_refused(
    walked: Walk, gateway: OldBankGateway, order: Order
) -> None:
    body = walked()
    spoil_credentials(order.terminal)

    assert gateway.read_return(order, body, FORM) == AskTheBank()
