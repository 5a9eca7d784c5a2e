"""The hash of version 3: the published vectors, and what no change of a form may leave right."""

import base64
import hashlib
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acquirers.nestpay import hashes

FORM = (
    "clientid=190100000&storetype=3d&amount=100.25&oid=order222&okUrl=https://domain.com/success"
    "&failUrl=https://domain.com/fail_url&rnd=rand-21212&lang=tr&currency=949&taksit="
    "&TranType=Auth&hashAlgorithm=ver3"
)
FORM_OF_3D_PAY = (
    "clientid=190100000&storetype=3d_pay&amount=100.25&oid=order222"
    "&okUrl=https://domain.com/success&failUrl=https://domain.com/fail_url&rnd=rand&lang=tr"
    "&currency=949&taksit=&islemtipi=Auth&firmaadi=siparis veren&Email=test@test.com"
    "&hashAlgorithm=ver3"
)
VECTORS = [
    (
        dict(parse_qsl(FORM, keep_blank_values=True)),
        "123456",
        "7tt3i3SMhzR3jYjCMwNrolSn7ksY7eKz2kVsqt/nUGK6XNw9/dMMZPVqHK9pQROGEIW3PJWut6v1Xv6ZDtnuSA==",
    ),
    (
        dict(parse_qsl(FORM_OF_3D_PAY, keep_blank_values=True)),
        "123456",
        "/uPxhEKWCEGi3NsDOOQ4u8Hu5g71v5GWspOid70WehTWEz97PqxG3IN1Jv5jsbOXOw3Z3Rr/0UtywzEgbqFfdA==",
    ),
    (
        {"b": "x|y", "A": "p\\q", "clientid": "1"},
        "s|k\\",
        "SI90CvvG80J6DHtpvl1Ht/60BhA7pS9VaQWVK6lxSLw9Ho2m7RTpeaEn2MXGo9ZT/VeKJFfgQ5qIfdEeiN8JdA==",
    ),
]
VALUES = st.text(st.characters(max_codepoint=255), max_size=20)


@pytest.mark.parametrize(("fields", "store_key", "expected"), VECTORS)
def test_a_published_vector_is_met(fields: dict[str, str], store_key: str, expected: str) -> None:
    assert hashes.of(fields, store_key) == expected
    assert hashes.is_right(fields, expected, store_key)
    assert not hashes.is_right(fields, expected, store_key + "7")


@pytest.mark.parametrize("name", ["hash", "HASH", "Encoding", "encoding", "NATIONALIDNO"])
def test_a_field_that_the_bank_does_not_sign_changes_nothing(name: str) -> None:
    fields, key, expected = VECTORS[0]

    assert hashes.of({**fields, name: "anything"}, key) == expected


def test_an_empty_field_keeps_its_place() -> None:
    fields, key, expected = VECTORS[0]

    assert hashes.of({name: value for name, value in fields.items() if value}, key) != expected


def test_names_are_ordered_by_their_numbers() -> None:
    text = b"2|10|k"

    assert hashes.of({"item10": "10", "Item2": "2"}, "k") == _digest(text)


@pytest.mark.parametrize("text", [b"cs|10|k", b"10|cs|k"])
def test_an_underscore_may_stand_before_or_behind_the_letters(text: bytes) -> None:
    assert hashes.is_right({"_charset_": "cs", "amount": "10"}, _digest(text), "k")


@given(st.lists(VALUES, min_size=2, max_size=4), st.integers(0, 2), VALUES)
def test_no_character_moves_between_neighbours(values: list[str], at: int, key: str) -> None:
    fields = {f"f{number}": value for number, value in enumerate(values)}
    at = min(at, len(values) - 2)
    if not values[at]:
        return
    moved = {**fields, f"f{at}": values[at][:-1], f"f{at + 1}": values[at][-1] + values[at + 1]}

    assert hashes.of(moved, key) != hashes.of(fields, key)


@given(VALUES, VALUES)
def test_a_bar_or_a_backslash_parts_nothing(first: str, second: str) -> None:
    joined = {"a": f"{first}|{second}", "b": ""}

    assert hashes.of(joined, "k") != hashes.of({"a": first, "b": second}, "k")


def _digest(text: bytes) -> str:
    return base64.b64encode(hashlib.sha512(text).digest()).decode()
