"""The adapter and the bank's stub, which were written apart, agree on any text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acquirers.garanti import answers, bodies, hashes
from acquirers.garanti.access import access_of
from acquirers.garanti.answers import Reply
from acquirers.gateway import Order, Payer
from acquirers.models import Terminal
from acquirers.set_up import PASSWORD
from acquirers.wire import Received
from testbank.garanti import answers as the_banks_answers
from testbank.garanti import hashes as the_banks
from testbank.protocols import xml_requests
from tests.acquirers.garanti.conftest import VALUES
from tests.stage.adapters import REFERENCE

TURKISH = "ğĞşŞıİçÇöÖüÜ"
TEXTS = st.one_of(
    st.sampled_from(["", "|", "\\", "\\|", "|\\", "||", TURKISH, "x" * 255, f"{TURKISH}|" * 19]),
    st.text(st.sampled_from(f"{TURKISH}|\\aZ09 +&=%<>\"'"), max_size=255),
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=20),
)
KEYS = st.one_of(st.sampled_from(["12345678", "KEY|\\2"]), st.from_regex(PASSWORD, fullmatch=True))
TERMINALS = st.from_regex(r"[0-9]{1,9}", fullmatch=True)
NUMBERS = st.from_regex(r"(?:[0-9]{12})?", fullmatch=True)


@settings(max_examples=150)
@given(st.lists(TEXTS, max_size=8), KEYS, TERMINALS)
def test_both_make_the_same_hash_of_any_text(
    values: list[str], password: str, terminal: str
) -> None:
    secret = hashes.security(password, terminal)

    assert secret == the_banks.security(password, terminal)
    assert hashes.of(*values, secret) == the_banks.hashed(*values, secret)


@settings(max_examples=150)
@given(st.fixed_dictionaries(dict.fromkeys(hashes.RETURNED, TEXTS)), KEYS)
def test_both_make_the_same_hash_of_any_return(fields: dict[str, str], key: str) -> None:
    came = {name: text.encode().decode("latin-1") for name, text in fields.items()}

    made = the_banks.hashed(*(fields[name] for name in hashes.RETURNED), key)

    assert hashes.of_return(came, key) == made


# The bank's clock is read.
@pytest.mark.django_db(databases=["default", "bank"])
@settings(max_examples=100)
@given(TEXTS, TEXTS, NUMBERS, KEYS)
def test_the_adapter_reads_any_text_that_the_bank_signs(
    error: str, system: str, number: str, password: str
) -> None:
    secret = the_banks.security(password, "30691298")
    words = (_writable(error), _writable(system))
    told = the_banks_answers.Told(
        "HOST", "51", "51", error=words[0], system_error=words[1], host_ref=number
    )
    content = the_banks_answers.written(told, REFERENCE, secret)

    read = answers.read(Reply(Received("text/xml", content), secret), _order())

    assert (read["RetrefNum"], read["Code"]) == (number, "51")
    assert (read["ErrorMsg"], read["SysErrMsg"]) == tuple(text.strip() for text in words)


@settings(max_examples=100)
@given(TEXTS, KEYS)
def test_the_bank_reads_any_text_that_the_adapter_sends(text: str, password: str) -> None:
    shown = _writable(text)
    order = _order(user=shown, password=password)
    sent = bodies.history(order, access_of(order.terminal)).content

    read = dict(xml_requests.read(sent, "GVPSRequest", _groups()))

    assert read["Terminal/UserID"] == shown
    secret = the_banks.security(password, "30691298")
    expected = the_banks.hashed(REFERENCE, "30691298", "", "100", "949", secret)
    assert read["Terminal/HashData"] == expected


def _writable(text: str) -> str:
    """Return what XML can hold of a text."""
    return "".join(char for char in text if char in "\t\n" or _is_xml(ord(char)))


def _is_xml(code: int) -> bool:
    return 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000


def _groups() -> frozenset[str]:
    return frozenset({"Terminal", "Customer", "Order", "Transaction"})


def _order(**values: Any) -> Order:
    shown = {**VALUES, "api_url": "https://bank.example/VPServlet", **values}
    terminal = Terminal(shown_values=shown)
    return Order(REFERENCE, terminal, "mer_acme", 10025, "try", payer=Payer(ip="203.0.113.7"))
