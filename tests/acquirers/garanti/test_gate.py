"""The gate's form and the payer's return: what is signed counts, whatever the browser brings."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import quote_from_bytes

import pytest
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from acquirers.garanti import gate
from acquirers.garanti.access import access_of
from acquirers.garanti.gateway import GarantiGateway
from acquirers.gateway import Order, Payer
from acquirers.models import Terminal
from acquirers.three_d_secure import (
    AskTheBank,
    Authenticated,
    Forged,
    FormPost,
    NotAuthenticated,
    Return,
)
from core import keyring
from tests.acquirers.garanti.conftest import VALUES
from tests.stage.adapters import CALLBACK, CARD, REFERENCE, authentication

FORM = "application/x-www-form-urlencoded"
KEY = VALUES["store_key"]
LIST = "clientid:oid:authcode:procreturncode:response:mdstatus:cavv:eci:md:rnd:"
SIGNED = LIST.split(":")[:-1]
# As the bank brings them back; Turkish letters as the bytes of ISO-8859-9.
BROUGHT = {
    "oid": REFERENCE,
    "orderid": REFERENCE,
    "clientid": "30691298",
    "mdstatus": "1",
    "mderrormessage": "TÜRKİYE İŞ BANKASI".encode("iso-8859-9").decode("latin-1"),
    "md": "aW5kZXg6MDJ6LjAI5iAcKf/ilXjYIOnTh4t+deHrtwO8ze7tPTL1YCDcBe8KEpuq6HDLYbqQSluL7p3kGcpFzX9s"
          "WrymzQ==",
    "xid": "RMv9XxJ+7vYBpJyGCPGtSCXBe4I=",
    "eci": "02",
    "cavv": "jCm0m+u/0hUfAREHBAMBcfN+pSo=",
    "txnstatus": "Y",
    "authcode": "",
    "procreturncode": "",
    "response": "",
    "transid": "",
    "hostrefnum": "",
    "rnd": "kW094tPzNEhqORzzCsLB",
    "MaskedPan": "54264***7890",
    "mode": "TEST",
    "apiversion": "512",
    "txntype": "sales",
    "txnamount": "10025",
    "txncurrencycode": "949",
    "txninstallmentcount": "",
    "secure3dsecuritylevel": "3D",
    "successurl": CALLBACK,
    "errorurl": CALLBACK,
}  # fmt: skip
OTHER = "0THER0RDER0RDER0RDER"
Read = Callable[[Mapping[str, str]], Return]


def digest(fields: Mapping[str, str], key: str = KEY) -> str:
    text = "".join(fields.get(name, "") for name in SIGNED) + key
    return hashlib.sha512(text.encode("latin-1")).hexdigest().upper()


def signed(changes: Mapping[str, str | None] | None = None, key: str = KEY) -> dict[str, str]:
    """Return what the bank brings back, signed with the changes; None leaves a field out."""
    told = {**BROUGHT, **(changes or {})}
    fields = {name: value for name, value in told.items() if value is not None}
    return {**fields, "hash": digest(fields, key), "hashparams": LIST, "hashparamsval": "anything"}


def posted(fields: Mapping[str, str]) -> bytes:
    pairs = (f"{_quoted(name)}={_quoted(value)}" for name, value in fields.items())
    return "&".join(pairs).encode()


def _quoted(text: str) -> str:
    return quote_from_bytes(text.encode("latin-1"), safe="")


@pytest.fixture
def read(gateway: GarantiGateway, order_at: Callable[..., Order]) -> Read:
    return lambda fields: gateway.read_return(order_at(), posted(fields), FORM)


# --- The form ---------------------------------------------------------------------------------


def test_the_form_has_the_banks_fields_and_its_hash(
    gateway: GarantiGateway, order_at: Callable[..., Order]
) -> None:
    request = authentication(order_at(installments=3, payer=Payer(ip="203.0.113.7")))
    begun = gateway.begin(request)
    assert isinstance(begun, FormPost)

    form = gateway.handoff(request, begun.url)

    assert form is not None
    assert (form.url, begun.origins) == (VALUES["gate_url"], ("https://bank.example:443",))
    secret = hashlib.sha1(b"123qweASD/030691298").hexdigest().upper()  # noqa: S324
    text = f"30691298{REFERENCE}10025949{CALLBACK}{CALLBACK}sales3{KEY}{secret}"
    assert dict(form.fields) == {
        "mode": "TEST", "apiversion": "512", "secure3dsecuritylevel": "3D",
        "terminalprovuserid": "PROVAUT", "terminaluserid": "PROVAUT",
        "terminalmerchantid": "7000679", "terminalid": "30691298", "txntype": "sales",
        "txnamount": "10025", "txncurrencycode": "949", "txninstallmentcount": "3",
        "orderid": REFERENCE, "successurl": CALLBACK, "errorurl": CALLBACK,
        "customeripaddress": "203.0.113.7", "lang": "en", "cardnumber": CARD,
        "cardexpiredatemonth": "03", "cardexpiredateyear": "34", "cardcvv2": "000",
        "secure3dhash": hashlib.sha512(text.encode()).hexdigest().upper(),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "capture", "language", "expected"),
    [
        ({"model": "3d_pay"}, True, "tr", ("3D_PAY", "sales", "tr", "")),
        ({}, False, "en", ("3D", "preauth", "en", "")),
    ],
)
def test_level_kind_and_language_are_the_terminals_the_payments_and_the_pages(
    values: dict[str, str], capture: bool, language: str, expected: tuple[str, ...],
    gateway: GarantiGateway, order_at: Callable[..., Order],
) -> None:  # fmt: skip
    with translation.override(language):
        form = gateway.handoff(authentication(order_at(**values), capture=capture), "https://b")

    assert form is not None
    names = ("secure3dsecuritylevel", "txntype", "lang", "txninstallmentcount")
    assert tuple(form.fields[name] for name in names) == expected


def test_no_form_is_made_without_the_card(
    gateway: GarantiGateway, order_at: Callable[..., Order], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_sealed: object) -> None:
        raise keyring.SealBroken

    monkeypatch.setattr("vault.reveal.reveal", broken)

    assert gateway.handoff(authentication(order_at()), "https://bank.example") is None


# --- The return -------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["iso-8859-9", "utf-8"])
def test_a_signed_return_is_an_authentication_in_either_encoding(encoding: str, read: Read) -> None:
    issuer = "TÜRKİYE İŞ BANKASI ğĞşŞıİ".encode(encoding).decode("latin-1")

    told = read({**signed({"mderrormessage": issuer}), "NATIONALIDNO": "1*********8"})

    assert isinstance(told, Authenticated)
    assert (told.md_status, told.eci, told.has_proof) == ("1", "02", True)
    assert dict(told.proof) == {name: BROUGHT[name] for name in ("cavv", "eci", "xid", "md")}


def test_a_value_that_is_not_signed_is_shown_nowhere(read: Read) -> None:
    told = read({**signed(), "xid": "another", "txnamount": "1", "txncurrencycode": "840"})

    assert isinstance(told, Authenticated)
    assert told.transaction_id is None


@pytest.mark.parametrize("name", SIGNED)
@pytest.mark.parametrize("change", ["longer", "empty", "another", "left out"])
def test_a_changed_signed_field_is_forged(name: str, change: str, read: Read) -> None:
    fields = signed()
    value = {"longer": fields[name] + "1", "empty": "", "another": "7", "left out": ""}[change]
    if value == fields[name]:
        return
    changed = {**fields, name: value}
    if change == "left out":
        del changed[name]

    with pytest.raises(Forged):
        read(changed)


@pytest.mark.parametrize(
    "changes",
    [
        {"oid": OTHER},
        {"oid": None},
        {"clientid": "30691299"},
        {"clientid": "030691298"},
        {"clientid": None},
        {"mdstatus": "11"},
        {"mdstatus": ""},
        {"mdstatus": None},
        {"eci": "5"},
        {"eci": "٠٢".encode().decode("latin-1")},
        {"cavv": "AAAB="},
        {"cavv": "-" * 27 + "="},
        {"rnd": ""},
        {"rnd": "kW094tPzNEhqORzzCsL"},
        {"md": "a b"},
    ],
)
def test_a_signed_answer_to_another_payment_or_of_another_form_is_forged(
    changes: dict[str, str | None], read: Read
) -> None:
    with pytest.raises(Forged):
        read(signed(changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"hash": ""},
        {"hash": "", "hashparams": ""},
        {"hash": "", "hashparams": "", "hashparamsval": ""},
        {"hash": "ÿ"},
        {"hashparams": ""},
        {"hashparams": LIST.removesuffix("rnd:")},
        {"hashparams": LIST.removesuffix(":")},
        {"hashparams": "oid:clientid:" + LIST.removeprefix("clientid:oid:")},
        {"hashparams": LIST.upper()},
        {"hashparams": "", "hash": hashlib.sha512(KEY.encode()).hexdigest().upper()},
        {"orderid": OTHER},
        {"MDSTATUS": "1"},
        {"Hash": "7"},
        {"ek alan": "1"},
        {"öid": "1"},
    ],
)
def test_an_empty_hash_another_list_or_a_name_twice_is_forged(
    changes: dict[str, str], read: Read
) -> None:
    with pytest.raises(Forged):
        read({**signed(), **changes})


def test_the_hash_of_an_empty_list_is_never_right(read: Read) -> None:
    alone = hashlib.sha512(KEY.encode()).hexdigest().upper()
    fields = {"oid": REFERENCE, "mdstatus": "1", "hash": alone, "hashparams": ""}

    with pytest.raises(Forged):
        read(fields)


def test_a_hash_in_small_letters_is_forged(read: Read) -> None:
    fields = signed()

    with pytest.raises(Forged):
        read({**fields, "hash": fields["hash"].lower()})


@pytest.mark.parametrize("at", range(len(SIGNED) - 1))
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("to_the_left", [True, False])
def test_a_digit_that_moves_between_neighbours_brings_nothing_on(
    at: int, count: int, to_the_left: bool, read: Read
) -> None:
    fields = signed()
    left, right = SIGNED[at], SIGNED[at + 1]
    text = fields[left] + fields[right]
    cut = len(fields[left]) + (count if to_the_left else -count)
    if not 0 <= cut <= len(text):
        return
    moved = {**fields, left: text[:cut], right: text[cut:]}
    assert digest(moved) == fields["hash"]

    with suppress(Forged):
        assert isinstance(read(moved), NotAuthenticated)


def test_a_return_signed_with_another_key_is_forged(read: Read) -> None:
    with pytest.raises(Forged):
        read(signed(key="123456789"))


@pytest.mark.parametrize("doubled", ["oid", "mdstatus", "hash", "txnamount"])
def test_a_field_that_comes_twice_is_forged(
    doubled: str, gateway: GarantiGateway, order_at: Callable[..., Order]
) -> None:
    fields = signed()
    body = posted(fields) + b"&" + posted({doubled: fields[doubled]})

    with pytest.raises(Forged):
        gateway.read_return(order_at(), body, FORM)


@pytest.mark.parametrize("count", [64, 65])
def test_at_most_64_fields_are_read(count: int, read: Read) -> None:
    fields = signed({f"extra{number}": "1" for number in range(count - len(signed()))})
    assert len(fields) == count

    if count == 64:
        assert isinstance(read(fields), Authenticated)
    else:
        with pytest.raises(Forged):
            read(fields)


def test_a_byte_more_than_32_kib_is_forged(read: Read) -> None:
    length = 32 * 1024 + 1 - len(posted(signed({"long": ""})))
    fields = signed({"long": "x" * length})
    assert len(posted(fields)) == 32 * 1024 + 1

    with pytest.raises(Forged):
        read(fields)
    assert isinstance(read({**fields, "long": "x" * (length - 1)}), Authenticated)


@pytest.mark.parametrize("md_status", ["0", "5", "6", "7", "8", "9"])
def test_a_failed_authentication_ends_the_try(md_status: str, read: Read) -> None:
    told = read(signed({"mdstatus": md_status, "cavv": "", "eci": "", "md": ""}))

    assert told == NotAuthenticated(md_status)


@pytest.mark.parametrize("md_status", ["2", "3", "4"])
@pytest.mark.parametrize("accepts", ["yes", "no"])
@pytest.mark.parametrize("cavv", ["", BROUGHT["cavv"]])
def test_an_attempted_one_counts_if_the_contract_allows_it(
    md_status: str, accepts: str, cavv: str,
    gateway: GarantiGateway, order_at: Callable[..., Order],
) -> None:  # fmt: skip
    body = posted(signed({"mdstatus": md_status, "eci": "06", "cavv": cavv}))

    told = gateway.read_return(order_at(accepts_attempted=accepts), body, FORM)

    assert isinstance(told, Authenticated if accepts == "yes" else NotAuthenticated)
    assert told.md_status == md_status
    if isinstance(told, Authenticated):
        assert told.has_proof == bool(cavv)


@pytest.mark.parametrize("name", ["md", "eci", "cavv"])
def test_an_authentication_without_a_part_of_its_proof_is_none(name: str, read: Read) -> None:
    assert isinstance(read(signed({name: ""})), NotAuthenticated)


def test_a_number_of_the_authentication_that_is_none_is_not_sent_on(read: Read) -> None:
    assert isinstance(read({**signed(), "xid": "a b"}), NotAuthenticated)


# --- Returns that are not signed ----------------------------------------------------------------

UNSIGNED = {"oid": REFERENCE, "mderrormessage": "Guvenlik Kodu hatali", "hashparams": ""}


@pytest.mark.parametrize(("model", "expected"), [("3d", NotAuthenticated), ("3d_pay", AskTheBank)])
@pytest.mark.parametrize("md_status", ["7", "0", "5", "9", ""])
def test_a_system_error_ends_a_try_or_lets_the_bank_be_asked(
    model: str, md_status: str, expected: type,
    gateway: GarantiGateway, order_at: Callable[..., Order],
) -> None:  # fmt: skip
    body = posted({**UNSIGNED, "mdstatus": md_status})

    assert isinstance(gateway.read_return(order_at(model=model), body, FORM), expected)


@pytest.mark.parametrize("md_status", ["1", "2", "3", "4"])
@pytest.mark.parametrize("model", ["3d", "3d_pay"])
def test_an_authentication_that_is_not_signed_is_forged(
    md_status: str, model: str, gateway: GarantiGateway, order_at: Callable[..., Order]
) -> None:
    body = posted({**BROUGHT, "mdstatus": md_status})

    with pytest.raises(Forged):
        gateway.read_return(order_at(model=model, accepts_attempted="yes"), body, FORM)


@pytest.mark.parametrize("name", ["oid", "orderid"])
def test_an_unsigned_error_of_another_order_is_forged(name: str, read: Read) -> None:
    with pytest.raises(Forged):
        read({**UNSIGNED, "mdstatus": "7", name: OTHER})


# --- The bank's own charge ----------------------------------------------------------------------

CHARGED = {"authcode": "304919", "procreturncode": "00", "response": "Approved"}


@pytest.mark.parametrize("changes", [CHARGED, {"response": "Declined"}, {"procreturncode": "05"}])
@pytest.mark.parametrize("model", ["3d", "3d_pay"])
def test_a_bank_that_may_have_charged_by_itself_is_asked(
    changes: dict[str, str], model: str, gateway: GarantiGateway, order_at: Callable[..., Order]
) -> None:
    # The terminal's model may have changed while the payer was away.
    body = posted(signed(changes))

    assert isinstance(gateway.read_return(order_at(model=model), body, FORM), AskTheBank)


def test_a_bank_that_charges_by_itself_is_asked_whatever_it_says(
    gateway: GarantiGateway, order_at: Callable[..., Order]
) -> None:
    body = posted(signed({"mdstatus": "0"}))

    assert isinstance(gateway.read_return(order_at(model="3d_pay"), body, FORM), AskTheBank)


def test_the_proof_is_shown_nowhere(read: Read) -> None:
    assert BROUGHT["md"] not in repr(read(signed()))


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(sorted(BROUGHT)), st.text(max_size=9), max_size=3))
def test_a_browsers_own_words_bring_nothing_on(brought: dict[str, str]) -> None:
    changes = {name: value.encode().decode("latin-1") for name, value in brought.items()}
    fields = {**signed(), **changes}
    is_whole = all(BROUGHT[name] == value for name, value in changes.items() if name in SIGNED)
    terminal = Terminal(shown_values={**VALUES, "api_url": "https://bank.example/VPServlet"})
    order = Order(REFERENCE, terminal, "mer_acme", 10025, "try")

    try:
        told = gate.read(order, posted(fields), FORM, access_of(terminal))
    except Forged:
        return
    assert is_whole
    assert isinstance(told, Authenticated | NotAuthenticated)
    if isinstance(told, Authenticated):
        assert {**told.proof, "xid": ""} == {**{n: BROUGHT[n] for n in told.proof}, "xid": ""}
