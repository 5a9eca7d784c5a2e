import itertools
import json
import logging
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.logs import logging_config
from core import names
from core.cards import CardData
from core.detection import contains_card_number
from core.scrub import MAX_CHARACTERS, scrub

VISA = "4242424242424242"
API_KEY = "sk_sandbox_" + "a1B2c3D4e5" * 4 + "6F7g8" + "9xYz"

numbers = st.sampled_from([VISA, "9792030000000000", "4242 4242-4242.4242", int(VISA), float(VISA)])
shown = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    shown | numbers | numbers.map(lambda number: f"paid\\n{number}".encode()),
    lambda children: st.lists(children) | st.dictionaries(st.text(max_size=9) | numbers, children),
    max_leaves=12,
)


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError(VISA)


@given(values)
def test_no_card_number_is_left_anywhere(value: Any) -> None:
    scrubbed = scrub(value)

    assert not contains_card_number(str(scrubbed).replace(":", "\n" * 5).replace(",", "\n" * 5))


@given(values, st.text())
def test_the_scrubber_takes_any_value_under_any_name(value: Any, name: str) -> None:
    scrub(value, name=name)


@pytest.mark.parametrize(
    "name",
    [
        "number",
        "CVC",
        "password",
        "Authorization",
        "HTTP_COOKIE",
        "Set-Cookie",
        "PF-Signature",
        "client_secret",
        "csrfmiddlewaretoken",
        "payment_method_data[card][exp_month]",
        "cards[0].code",
        "cardNumber",
        "secretKey",
        "Client Secret",
        "securityCode",
        "c_v_c",
    ],
)
def test_a_secret_name_hides_whatever_it_holds(name: str) -> None:
    assert scrub({"outer": [{name: {"a": 1}}]}) == {"outer": [{name: "[redacted]"}]}
    assert scrub("anything", name=name) == "[redacted]"


@pytest.mark.parametrize(
    "name", ["idempotency_key", "vault_token", "amount", "card_type", "nr", "acid"]
)
def test_other_names_stay_readable(name: str) -> None:
    assert scrub({name: "abc"}) == {name: "abc"}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"4242 4242 4242 4242 for {VISA}", "424242******4242 for 424242******4242"),
        (f"key {API_KEY}, none", "key sk_sandbox_…9xYz, none"),
        ("sk_live_short", "sk_live_[redacted]"),
        ("secret whsec_abc+/9=", "secret whsec_[redacted]"),
        (f"Authorization: Bearer {API_KEY}", "Authorization: [redacted]"),
        ("{'Authorization': 'Basic c2s6'}", "{'Authorization': '[redacted]'}"),
        ("sent bearer abc.def", "sent bearer [redacted]"),
        ("{'cvc': '123', 'pan': 'a b'}", "{'cvc': '[redacted]', 'pan': '[redacted]'}"),
        ('{"password": "a b"}', '{"password": "[redacted]"}'),
        ("card[cvc]=123&b%5Bcvc%5D=1234", "card[cvc]=[redacted]&b%5Bcvc%5D=[redacted]"),
        ("a -----BEGIN X KEY-----\nMII\n-----END X KEY----- b", "a [redacted PEM block] b"),
        ("-----BEGIN X KEY-----\nMII and cut", "[redacted PEM block]"),
        (f"repr '\\n{VISA}'", "repr ' 424242******4242'"),
        ("?q=4242%204242%204242%204242", "?q=424242******4242"),
        ("GET /account/invitation/aB3-_x9 200", "GET /account/invitation/[redacted] 200"),
        ("/account/password/reset/1b-c4x-9f/", "/account/password/reset/[redacted]/"),
        ("/account/password/reset/sent", "/account/password/reset/sent"),
        ("100% of 12 at 50%", "100% of 12 at 50%"),
    ],
)  # fmt: skip
def test_secrets_in_text_are_hidden(text: str, clean: str) -> None:
    assert scrub(text) == clean


@pytest.mark.parametrize("key", [API_KEY, f"sk_live_{API_KEY[-49:]}", f"whsec_{'aB3' * 11}"])
@pytest.mark.parametrize(
    "around",
    ["{}", "x{}", "0{}", "Bearer{}", "a%20{}", "a%2520{}", "\\n{}", "\\u0020{}", "k={}&b=1",
     "({}x)", "ş{}ş", "_{}", "https://acme.example/{}/a", "{}{}"],
)  # fmt: skip
def test_a_whole_key_never_stands_whole(around: str, key: str) -> None:
    for text in (around.format(key, key), quote(around.format(key, key), safe="")):
        for written in (text, text.replace("_", "%5F"), text.replace("_", "\\x5f")):
            shown = str(scrub({"a": written, written: 1, "b": written.encode()}))

            assert key not in unquote(unquote(shown)).replace("\\x5f", "_")


@pytest.mark.parametrize("text", ["task_live_session", "a risk_test_run", "disk_sandbox_7", "sk_x"])
def test_words_that_end_like_a_keys_beginning_stay(text: str) -> None:
    assert scrub(text) == text


def test_an_object_named_card_shows_the_facts_that_the_api_shows() -> None:
    facts = {
        "brand": "visa", "bin": "424242", "last4": "4242", "masked": "424242******4242",
        "exp_month": 12, "exp_year": 2040, "card_type": "credit", "domestic": False,
    }  # fmt: skip

    assert scrub({"card": facts}) == {"card": facts}
    assert scrub({"options": {"card": {"three_d_secure": "automatic"}}}) == {
        "options": {"card": {"three_d_secure": "automatic"}}
    }


@pytest.mark.parametrize(
    "name", ["number", "cvc", "CVV", "security_code", "code", "pin", "holder_name", "x"]
)
@pytest.mark.parametrize(
    "value", ["937", 937, 937.0, "code 937", VISA, int(VISA), b"937", "９３７", Decimal(937)]
)
def test_an_object_named_card_shows_no_other_digits(name: str, value: Any) -> None:
    assert scrub({"card": {name: value}}) == {"card": {name: "[redacted]"}}


@pytest.mark.parametrize("inner", [["937"], {"a": "937"}, [["937"]], {"a": [{"b": 937}]}])
def test_an_object_named_card_shows_no_digits_at_any_depth(inner: Any) -> None:
    assert "937" not in str(scrub({"card": {"networks": inner}}))
    assert "937" not in str(scrub({"card": {"exp_month": inner}}))


@pytest.mark.parametrize("card", [VISA, 424242, "visa", [1], [{"brand": "visa"}], ("visa",)])
def test_a_card_that_is_no_object_stays_hidden(card: Any) -> None:
    assert scrub({"card": card}) == {"card": "[redacted]"}


def test_only_a_masked_number_is_shown_and_only_in_a_card() -> None:
    assert scrub({"card": {"number": "424242******4242"}}) == {
        "card": {"number": "424242******4242"}
    }
    assert scrub({"number": "424242******4242"}) == {"number": "[redacted]"}
    for half in ("4242424242******", "******4242424242", "424242*4242424242", "424242**4242"):
        assert scrub({"card": {"number": half}}) == {"card": {"number": "[redacted]"}}


@pytest.mark.parametrize("letters", ["", "ı", "ş", "🂡"])
@pytest.mark.parametrize(
    "text",
    ["bearer abcdef", "BEARER abcdef", "Authorızation: abcdef", "beaREr abcdef", "x_sk_live_abc",
     "awhsec", "a_whsec_abcdef", "CVV=937", "ſk_", "cſc=937", "{'paſſword': 'abcdef'}",
     "cıd=937", "CVN 937", "cv2:937", "cvd 937", "CCV:937", "securıty code 937",
     "VERIFICATION value=937", "güvenlik kodu 937", "Güvenlık_Kodu 937", "cards[937]",
     "x[CARD][937]"],
)  # fmt: skip
def test_a_text_that_looks_plain_is_replaced_like_any_other(text: str, letters: str) -> None:
    # With a quote every pattern is tried; the look that saves trying must miss nothing.
    assert scrub(letters + text) == scrub(letters + text + "'").removesuffix("'")


def test_a_card_object_shows_nothing() -> None:
    card = CardData(VISA, 12, 2030, cvc="987", holder_name="Ada Lovelace")

    assert scrub({"paid_with": card, "all": (card,)}) == {
        "paid_with": "<CardData>",
        "all": ("<CardData>",),
    }


def test_plain_values_keep_their_meaning() -> None:
    moment = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)

    assert scrub([1, 1.5, None, True, Decimal("1.20"), moment]) == [
        1,
        1.5,
        None,
        True,
        "1.20",
        "2026-11-01 12:30:00+00:00",
    ]


def test_an_object_that_cannot_be_shown_is_named() -> None:
    assert "Broken" in scrub(Broken())


@pytest.mark.parametrize("place", ["card", "payment_method_data", "x"])
def test_a_number_that_python_does_not_write_is_left_out(place: str) -> None:
    huge = 10**5000

    scrubbed = scrub({place: {huge: huge, "number": -huge, "list": [huge]}})

    assert len(json.dumps(scrubbed)) < 100


def test_a_value_that_holds_itself_ends() -> None:
    loop: list[Any] = [1]
    loop.append(loop)

    assert scrub(loop) == [1, "[…]"]


def test_depth_is_bounded() -> None:
    deep: Any = VISA
    for _ in range(100):
        deep = {"a": deep}

    assert json.dumps(scrub(deep)).count("{") == 12


def test_a_long_text_is_cut_without_leaving_half_a_number() -> None:
    text = "a" * (MAX_CHARACTERS - 10) + " " + VISA

    assert scrub(text) == "a" * (MAX_CHARACTERS - 10) + "…"


@pytest.fixture
def log_line() -> logging.Formatter:
    options = logging_config(level="INFO")["formatters"]["json"]
    formatter: logging.Formatter = options.pop("()")(**options)
    return formatter


def test_a_log_line_with_a_traceback_shows_no_card(log_line: logging.Formatter) -> None:
    try:
        raise ValueError(f"Failing row contains (tok_x, {VISA})")
    except ValueError as error:
        record = logging.LogRecord(
            "a", logging.ERROR, __file__, 1, "no %s", (VISA,), (type(error), error, None)
        )

    line = log_line.format(record)

    assert "ValueError" in line
    assert VISA not in line


@pytest.mark.parametrize(
    "detail",
    [
        "DETAIL:  Failing row contains (cus_1, Ada (the) Lovelace, ada@example.com, null).",
        "DETAIL:  Failing row contains (cus_1, Ada\nLovelace, ada@example.com).\nSTATEMENT: x",
        "DETAIL:  Failing row contains (cus_1, Ada Lovelace, ada@exam",
        "DETAIL:  Key (email)=(ada@example.com) already exists.",
        "DETAIL:  Key (name, email)=(Ada Lovelace, ada@example.com) already exists.",
    ],
)
def test_what_a_database_error_says_of_people_is_not_shown(detail: str) -> None:
    shown = scrub(f'violates constraint "a_rule"\n{detail}')

    assert "a_rule" in shown
    assert "Ada" not in shown
    assert "ada@" not in shown


def test_what_names_say_is_remembered_whatever_others_were_sent() -> None:
    asked = []
    reading = names.remembered(lambda name: asked.append(name) or len(name))

    for letters in itertools.product("abcdefghijk", repeat=4):
        reading("".join(letters))
    asked.clear()

    assert [reading(name) for name in ("amount", "amount", "last4", "last4")] == [6, 6, 5, 5]
    assert asked == ["amount", "last4"]


@pytest.mark.parametrize("name", ["sk_live_abcdefghij", "whsec_abcdefghij", "k3y0", "a" * 41, ""])
def test_what_may_be_a_secret_is_not_remembered_as_a_name(name: str) -> None:
    asked = []
    reading = names.remembered(lambda name: asked.append(name) or len(name))

    assert reading(name) == reading(name) == len(name)
    assert asked == [name, name]
