"""E-mail addresses are compared by one key, and names that people read can be read."""

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given, settings
from hypothesis import strategies as st

from core import mail, names

# --- E-mail addresses -------------------------------------------------------------------------

# A key, and an address that has it.
KEYS = [
    ("ayse.i@example.com", "ayse.i@example.com"),
    ("ayse.i@example.com", " AYSE.I@Example.COM\t"),
    ("ayse.i@example.com", "\u00a0ayse.i@ｅxample。com"),
    ("ada@xn--mnchen-3ya.example", "Ada@MÜNCHEN.example"),
    ("ada@xn--mnchen-3ya.example", "ada@münchen.example"),
    ("ada@xn--mnchen-3ya.example", "ada@mu\u0308nchen.example"),
    ("ada@xn--mnchen-3ya.example", "ada@XN--MNCHEN-3YA.example"),
    # Not strasse.example, as it is by the IDNA of 2003.
    ("ada@xn--strae-oqa.example", "ada@straße.example"),
    # A local part that is not ASCII is compared as it is: Python's lower case would make two of
    # these the address of somebody else.
    ("ayse.\u0131@example.com", "ayse.\u0131@example.com"),
    ("ayse.\u0130@example.com", "AYSE.\u0130@example.com"),
    ("\u212aate@example.com", "\u212aATE@example.com"),
    ("Özgür@example.com", "Özgür@example.com"),
    # No domain of these can be registered.
    ("ada@ex☃mple.com", "Ada@Ex☃mple.com"),
    ("ada@a..é", "Ada@A..é"),
    ('"a@b"@example.com', '"A@B"@EXAMPLE.com'),
    ("nobody", "NOBODY"),
    ("", "  "),
]


@pytest.mark.parametrize(("key", "address"), KEYS)
def test_an_address_is_compared_by_its_key(key: str, address: str) -> None:
    assert names.email_key(address) == key


@settings(max_examples=40)
@given(st.text(max_size=8), st.text(max_size=12))
def test_the_key_of_a_key_is_itself(local: str, domain: str) -> None:
    key = names.email_key(f"{local}@{domain}")

    assert names.email_key(key) == key


def test_a_mail_goes_to_the_domain_that_was_meant() -> None:
    assert names.reachable(" Ada@Straße.example") == "Ada@xn--strae-oqa.example"


@pytest.mark.parametrize(
    "address",
    ["ada@example.com", "Ada+1@MÜNCHEN.example", "o'neil@example.com", '"ab"@example.com'],
)
def test_a_new_address_is_taken(address: str) -> None:
    mail.require_address(address)


LONG = f"ü{'a' * 50}"  # Eight letters more as an A-label.


@pytest.mark.parametrize(
    "address",
    [
        "ayse.\u0131@example.com", "AYSE.\u0130@example.com", "\u212aate@example.com",
        "\u017fam@example.com", "özgür@example.com", "ａda@example.com", '"a\x01b"@example.com',
        f"{'x' * 20}@{LONG}.{LONG}.{LONG}.{LONG}.example", f"{'a' * 250}@x.example",
        "ada", "ada@", "@example.com", " ada@example.com", "a\u200bda@example.com",
        # Domains of 2003, which have no A-label any more.
        "ada@\u2603.example", "ada@I\u2764.ws", "ada@\u0661.example", "ada@ab--c\u00fc.example",
    ],
)  # fmt: skip
def test_a_new_address_of_other_letters_before_the_sign_is_refused(address: str) -> None:
    with pytest.raises(ValidationError):
        mail.require_address(address)


# --- Names that people read -------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Ayşe Yılmaz", "O'Neil & Söhne GmbH", "株式会社", "محمد علي", "דוד\u200f לוי",
        "ک\u200cتاب", "👩\u200d🚀 Shop", "e\u0301", "ไทย", "-", " Acme ",
    ],
)  # fmt: skip
def test_a_name_that_people_write_is_legible(name: str) -> None:
    assert names.is_legible(name)


@pytest.mark.parametrize(
    "name",
    [
        # Control characters, and what breaks the line.
        "Ac\x00me", "Ac\tme", "Acme\n", "Acme\r\nBcc: x", "Ac\x1bme", "Ac\x7fme", "Ac\x85me",
        "Ac\u2028me", "Ac\u2029me", "Ac\x0bme",
        # Characters that turn the direction of the rest.
        *(f"Ac{chr(one)}me" for one in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))),
        # Nothing to see.
        "", " ", "\u00a0", "\u200b", "\u200b \u2060\ufeff", "\u00ad", "\u200d\u200c", "\u3164",
        "\u115f\u1160", "\uffa0", "\u2800", "\u034f", "\ufe0f", "\U000e0041", "\u200e\u200f\u061c",
        "\u180e", "\u0301",
    ],
)  # fmt: skip
def test_a_name_of_other_characters_is_not(name: str) -> None:
    assert not names.is_legible(name)
