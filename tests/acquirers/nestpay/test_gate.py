"""The gate's form and the payer's return: what is signed counts, whatever the browser brings."""

from collections.abc import Callable, Mapping
from urllib.parse import quote_from_bytes

import pytest
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from acquirers.gateway import Order
from acquirers.models import Terminal
from acquirers.nestpay import gate, hashes
from acquirers.nestpay.access import access_of
from acquirers.nestpay.gateway import NestPayGateway
from acquirers.three_d_secure import (
    AskTheBank,
    Authenticated,
    Forged,
    FormPost,
    NotAuthenticated,
    Return,
)
from core import keyring
from tests.acquirers.nestpay.conftest import VALUES
from tests.stage.adapters import CALLBACK, CARD, REFERENCE, authentication

FORM = "application/x-www-form-urlencoded"
KEY = VALUES["store_key"]
# As banks bring them back; Turkish letters as the bytes of ISO-8859-9.
BROUGHT = {
    "oid": REFERENCE,
    "mdStatus": "1",
    "md": "435508:8F0C:3677:##190100000",
    "xid": "RMv9XxJ+7vYBpJyGCPGtSCXBe4I=",
    "eci": "05",
    "cavv": "ABABByZ4J2AAAAAAABkkAAAAAAA=",
    "txstatus": "Y",
    "mdErrorMsg": "Y-status/Challenge authentication",
    "amount": "100.25",
    "currency": "949",
    "clientid": "190100000",
    "storetype": "3d",
    "rnd": "0123456789",
    "hashAlgorithm": "ver3",
    "maskedCreditCard": "4355 08** **** 4358",
    "clientIp": "203.0.113.7",
    "merchantID": "190100000",
    "taksit": "",
    "TranType": "Auth",
    "EXTRA_CARDISSUER": "ZİRAAT BANKASI".encode("iso-8859-9").decode("latin-1"),
    "EXTRA_CARDHOLDERNAME": "AD* ŞE*|\\".encode("iso-8859-9").decode("latin-1"),
    "okUrl": CALLBACK,
    "failUrl": CALLBACK,
}
FIELDS_AT_MOST = 64
Read = Callable[[Mapping[str, str]], Return]


def signed(changes: Mapping[str, str | None] | None = None, key: str = KEY) -> dict[str, str]:
    """Return what the bank brings back, signed with the changes; None leaves a field out."""
    told = {**BROUGHT, **(changes or {})}
    fields = {name: value for name, value in told.items() if value is not None}
    return {**fields, "HASH": hashes.of(fields, key), "encoding": "ISO-8859-9"}


def posted(fields: Mapping[str, str]) -> bytes:
    pairs = (f"{_quoted(name)}={_quoted(value)}" for name, value in fields.items())
    return "&".join(pairs).encode()


def _quoted(text: str) -> str:
    return quote_from_bytes(text.encode("latin-1"), safe="")


@pytest.fixture
def read(gateway: NestPayGateway, order_at: Callable[..., Order]) -> Read:
    return lambda fields: gateway.read_return(order_at(), posted(fields), FORM)


# --- The form ---------------------------------------------------------------------------------


def test_the_form_has_the_banks_fields_and_its_hash(
    gateway: NestPayGateway, order_at: Callable[..., Order]
) -> None:
    request = authentication(order_at(installments=3))
    begun = gateway.begin(request)
    assert isinstance(begun, FormPost)

    form = gateway.handoff(request, begun.url)

    assert form is not None
    assert (form.url, begun.origins) == (VALUES["gate_url"], ("https://bank.example:443",))
    fields = dict(form.fields)
    assert len(fields["rnd"]) == 20
    assert hashes.is_right(fields, fields.pop("hash"), KEY)
    assert fields.pop("rnd").isalnum()
    assert fields == {
        "clientid": "190100000", "storetype": "3d", "amount": "100.25", "oid": REFERENCE,
        "okUrl": CALLBACK, "failUrl": CALLBACK, "lang": "en", "currency": "949", "taksit": "3",
        "TranType": "Auth", "hashAlgorithm": "ver3", "pan": CARD, "cv2": "000",
        "Ecom_Payment_Card_ExpDate_Month": "03", "Ecom_Payment_Card_ExpDate_Year": "34",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "capture", "language", "expected"),
    [
        ({"model": "3d_pay"}, True, "tr", ("3d_pay", "Auth", "tr", "")),
        ({}, False, "en", ("3d", "PreAuth", "en", "")),
    ],
)
def test_model_kind_and_language_are_the_terminals_the_payments_and_the_pages(
    values: dict[str, str], capture: bool, language: str, expected: tuple[str, ...],
    gateway: NestPayGateway, order_at: Callable[..., Order],
) -> None:  # fmt: skip
    with translation.override(language):
        form = gateway.handoff(authentication(order_at(**values), capture=capture), "https://b")

    assert form is not None
    names = ("storetype", "TranType", "lang", "taksit")
    assert tuple(form.fields[name] for name in names) == expected
    assert "callbackUrl" not in form.fields


def test_no_form_is_made_without_the_card(
    gateway: NestPayGateway, order_at: Callable[..., Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_sealed: object) -> None:
        raise keyring.SealBroken

    monkeypatch.setattr("vault.reveal.reveal", broken)

    assert gateway.handoff(authentication(order_at()), "https://bank.example") is None


# --- The return -------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["iso-8859-9", "utf-8"])
def test_a_signed_return_is_an_authentication_in_either_encoding(encoding: str, read: Read) -> None:
    issuer = "TÜRKİYE İŞ BANKASI ğĞşŞıİ".encode(encoding).decode("latin-1")

    told = read(signed({"EXTRA_CARDISSUER": issuer}))

    assert isinstance(told, Authenticated)
    assert (told.md_status, told.eci, told.transaction_id) == ("1", "05", BROUGHT["xid"])
    assert dict(told.proof) == {name: BROUGHT[name] for name in ("md", "xid", "eci", "cavv")}


def test_a_number_of_the_cardholder_that_the_bank_does_not_sign_is_accepted(read: Read) -> None:
    told = read({**signed(), "NATIONALIDNO": "1*********8", "encoding": "anything"})

    assert isinstance(told, Authenticated)


@pytest.mark.parametrize("name", BROUGHT)
@pytest.mark.parametrize("change", ["longer", "empty", "another"])
def test_a_changed_field_is_forged(name: str, change: str, read: Read) -> None:
    fields = signed()
    value = {"longer": fields[name] + "1", "empty": "", "another": "7"}[change]
    if value == fields[name]:
        return

    with pytest.raises(Forged):
        read({**fields, name: value})


@pytest.mark.parametrize("name", sorted(BROUGHT.keys() - {"mdStatus"}))
def test_a_field_that_is_left_out_is_forged(name: str, read: Read) -> None:
    fields = signed()
    del fields[name]

    with pytest.raises(Forged):
        read(fields)


@pytest.mark.parametrize(
    "changes",
    [
        {"oid": "0THER0RDER0RDER0RDER"},
        {"amount": "1.00"},
        {"amount": "100.250"},
        {"currency": "840"},
        {"clientid": "190100001"},
        {"hashAlgorithm": "ver2"},
        {"hashAlgorithm": None},
        {"clientid": None},
    ],
)
def test_a_signed_answer_to_another_payment_or_in_another_way_is_forged(
    changes: dict[str, str | None], read: Read
) -> None:
    with pytest.raises(Forged):
        read(signed(changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"HASH": ""},
        {"HASH": "", "HASHPARAMS": "", "HASHPARAMSVAL": ""},
        {"HASH": "ÿ"},
        {"HASHPARAMS": "clientid:oid:"},
        {"MDSTATUS": "1"},
        {"Hash": "7"},
        {"ek alan": "1"},
        {"öid": "1"},
    ],
)
def test_an_empty_hash_an_older_list_or_a_name_twice_is_forged(
    changes: dict[str, str], read: Read
) -> None:
    with pytest.raises(Forged):
        read({**signed(), **changes})


def test_a_return_signed_with_another_key_is_forged(read: Read) -> None:
    with pytest.raises(Forged):
        read(signed(key="1234567"))


@pytest.mark.parametrize("doubled", ["oid", "mdStatus", "HASH", "encoding"])
def test_a_field_that_comes_twice_is_forged(
    doubled: str, gateway: NestPayGateway, order_at: Callable[..., Order]
) -> None:
    fields = signed()
    body = posted(fields) + b"&" + posted({doubled: fields[doubled]})

    with pytest.raises(Forged):
        gateway.read_return(order_at(), body, FORM)


@pytest.mark.parametrize("count", [FIELDS_AT_MOST, FIELDS_AT_MOST + 1])
def test_at_most_64_fields_are_read(count: int, read: Read) -> None:
    more = count - len(signed())
    fields = signed({f"EXTRA_{number}": "1" for number in range(more)})
    assert len(fields) == count

    if count == FIELDS_AT_MOST:
        assert isinstance(read(fields), Authenticated)
    else:
        with pytest.raises(Forged):
            read(fields)


def test_a_byte_more_than_32_kib_is_forged(
    gateway: NestPayGateway, order_at: Callable[..., Order]
) -> None:
    empty = len(posted(signed({"EXTRA_LONG": ""})))
    # The hash differs in what its own quoting takes, so that the last bytes are plain.
    for length in range(32 * 1024 + 1 - empty, 32 * 1024 + 1 - empty + 200):
        body = posted(signed({"EXTRA_LONG": "x" * length}))
        if len(body) == 32 * 1024 + 1:
            break

    with pytest.raises(Forged):
        gateway.read_return(order_at(), body, FORM)
    assert len(body) == 32 * 1024 + 1


@pytest.mark.parametrize("md_status", ["0", "5", "6", "7", "8", "9", "", "11"])
def test_a_failed_authentication_ends_the_try(md_status: str, read: Read) -> None:
    assert isinstance(read(signed({"mdStatus": md_status})), NotAuthenticated)


@pytest.mark.parametrize("md_status", ["2", "3", "4"])
@pytest.mark.parametrize("accepts", ["yes", "no"])
def test_an_attempted_one_counts_if_the_contract_allows_it(
    md_status: str, accepts: str, gateway: NestPayGateway, order_at: Callable[..., Order]
) -> None:
    body = posted(signed({"mdStatus": md_status, "eci": "06"}))

    told = gateway.read_return(order_at(accepts_attempted=accepts), body, FORM)

    assert isinstance(told, Authenticated if accepts == "yes" else NotAuthenticated)
    assert told.md_status == md_status


@pytest.mark.parametrize("name", ["md", "xid", "eci", "cavv"])
def test_an_authentication_without_a_part_of_its_proof_is_none(name: str, read: Read) -> None:
    assert isinstance(read(signed({name: ""})), NotAuthenticated)


UNSIGNED = {"Response": "Error", "ErrorCode": "HPP-1001", "clientid": "*", "oid": REFERENCE}


@pytest.mark.parametrize(("model", "expected"), [("3d", NotAuthenticated), ("3d_pay", AskTheBank)])
def test_an_unsigned_refusal_ends_a_try_or_lets_the_bank_be_asked(
    model: str, expected: type, gateway: NestPayGateway, order_at: Callable[..., Order]
) -> None:
    told = gateway.read_return(order_at(model=model), posted(UNSIGNED), FORM)

    assert isinstance(told, expected)


def test_an_unsigned_refusal_of_another_order_is_forged(read: Read) -> None:
    with pytest.raises(Forged):
        read({**UNSIGNED, "oid": "0THER0RDER0RDER0RDER"})


@pytest.mark.parametrize("md_status", ["1", "0"])
@pytest.mark.parametrize("model", ["3d", "3d_pay"])
def test_a_bank_that_may_have_charged_by_itself_is_asked(
    model: str, md_status: str, gateway: NestPayGateway, order_at: Callable[..., Order]
) -> None:
    # The terminal's model may have changed while the payer was away.
    body = posted(signed({"storetype": "3d_pay", "mdStatus": md_status, "Response": "Approved"}))

    assert isinstance(gateway.read_return(order_at(model=model), body, FORM), AskTheBank)


def test_the_proof_is_shown_nowhere(read: Read) -> None:
    assert BROUGHT["md"] not in repr(read(signed()))


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(sorted(BROUGHT)), st.text(max_size=9), max_size=3))
def test_a_browsers_own_words_bring_nothing_on(brought: dict[str, str]) -> None:
    changes = {name: value.encode().decode("latin-1") for name, value in brought.items()}
    fields = {**signed(), **changes}
    is_whole = all(BROUGHT[name] == value for name, value in changes.items())
    order = _order()

    try:
        told = gate.read(order, posted(fields), FORM, access_of(order.terminal))
    except Forged:
        return
    assert is_whole
    assert isinstance(told, Authenticated)


def _order() -> Order:
    shown = {**VALUES, "api_url": "https://bank.example/fim/api"}
    return Order(REFERENCE, Terminal(shown_values=shown), "mer_acme", 10025, "try")
