"""Bodies, addresses and headers in the request log: complete enough for support, no card."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import redaction, request_logs
from core.detection import contains_card_number
from core.rest.parsers import CardInput
from core.scrub import scrub
from merchants.models import RequestLog
from tests.stage.bank_transport import BankTransport
from tests.stage.books import logged
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD, card, confirmation, payment, payment_method
from tests.stage.refusals import raw

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = GOOD_CARD
CVC = "937"
SPELLED = re.compile(r"[^0-9A-Za-z]{0,3}".join(CARD))
PAYMENTS = "/v1/payment_intents"
REFUSED = (
    CARD,
    "4242 4242 4242 4242",
    "4242-4242-4242-4242",
    "４２４２４２４２４２４２４２４２",
    "42424242\u200b42424242",
)
# Beside a letter the digits are taken for an id, and are not refused; they are still masked.
WRITTEN = (*REFUSED, f"Ada\\n{CARD}")


def request_body(answer: Answer) -> dict[str, Any]:
    return json.loads(logged(answer).request_body)


def leaks(row: RequestLog) -> list[str]:
    """Return which secrets a row shows in any column, however they are written."""
    row.duration_ms = 0  # Three digits may be any number.
    shown = json.dumps(request_logs.shown(row), ensure_ascii=False)
    found = {
        "card": contains_card_number(shown) or SPELLED.search(shown),
        "cvc": re.search(rf"(?<![0-9A-Za-z]){CVC}(?![0-9A-Za-z])", shown),
        "key": re.search(r"sk_sandbox_\w{12}", shown),
    }
    return [secret for secret, is_there in found.items() if is_there]


# --- The card that was given ----------------------------------------------------------------


def test_a_cards_number_is_masked_and_its_code_is_not_mentioned(
    acme: ApiClient, bank: BankTransport
) -> None:
    given = payment_method(cvc=CVC, holder_name="Ayşe Yılmaz")

    body = request_body(acme.post(PAYMENTS, payment(payment_method_data=given)))

    assert body["payment_method_data"]["card"] == {
        "number": "424242******4242",
        "exp_month": 12,
        "exp_year": 2040,
        "holder_name": "Ayşe Yılmaz",
    }
    assert body["payment_method_data"]["billing_details"] == given["billing_details"]
    assert (body["amount"], body["currency"]) == (12500, "try")


def test_the_answer_shows_the_card_as_the_api_does(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()

    assert json.loads(logged(paid).response_body)["card"] == paid["card"]


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("4242 4242 4242 4242", "424242******4242"),
        ("4242424242424241", "[redacted]"),
        ("424242", "[redacted]"),
        (CARD + "1", "[redacted]"),
        (int(CARD), "[redacted]"),
        ([CARD], "[redacted]"),
        ({"a": CARD}, "[redacted]"),
    ],
)
def test_a_number_that_is_no_whole_card_number_is_hidden(
    acme: ApiClient, bank: BankTransport, number: Any, shown: str
) -> None:
    row = logged(acme.post(PAYMENTS, payment(payment_method_data=payment_method(number))))

    assert json.loads(row.request_body)["payment_method_data"]["card"]["number"] == shown
    assert CARD not in row.request_body


def test_what_else_a_card_was_given_is_hidden(acme: ApiClient) -> None:
    given = payment_method(cvv=CVC, security_code=CVC, code=CVC, holder_name=f"code {CVC}")

    shown = request_body(acme.post(PAYMENTS, payment(payment_method_data=given)))

    assert shown["payment_method_data"]["card"] == {
        "number": "424242******4242",
        "exp_month": 12,
        "exp_year": 2040,
        "code": "[redacted]",
        "holder_name": "[redacted]",
    }


# --- Where a secret has no business ----------------------------------------------------------


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("number", REFUSED)
@pytest.mark.parametrize(
    "place",
    [
        lambda pan: {"description": f"paid with {pan}"},
        lambda pan: {"metadata": {pan: "x", "order": "7"}},
        lambda pan: {"metadata": {"order": [pan]}},
        lambda pan: {"card": pan},
        lambda pan: {"card": {"number": pan, "cvc": CVC}},
        lambda pan: {"payment_method_data": {"card": pan}},
        lambda pan: {"payment_method_data": payment_method(holder_name=pan)},
        lambda pan: {"payment_method_data": payment_method(exp_month=pan)},
        lambda pan: {"payment_method_data": {"card": {pan: pan}}},
        lambda pan: {"payment_method_data": [card(pan, cvc=CVC)]},
        lambda pan: {"source": {"object": "card", "number": pan, "cvc": CVC}},
    ],
)
def test_a_refused_body_is_shown_without_its_card(acme: ApiClient, place: Any, number: str) -> None:
    answer = acme.post(PAYMENTS, {"amount": 12500, "currency": "try", **place(number)})

    row = logged(answer)
    assert answer.status == 400
    assert leaks(row) == []
    assert json.loads(row.request_body)["amount"] == 12500


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"cvc": CVC, "order": "7"}},
        {"metadata": {"card[cvc]": CVC, "CVV": CVC, "card_cvc": CVC, "csc": CVC, "cvcCode": CVC}},
        {"cvc": CVC, "card": {"cvc": CVC, "security_code": CVC}},
        {"payment_method_data[card][cvc]": CVC},
        {"description": f"cvc: {CVC}"},
    ],
)
def test_a_security_code_is_left_out_with_its_name(acme: ApiClient, body: dict[str, Any]) -> None:
    row = logged(acme.post("/v1/customers", body))

    names = [name.lower() for name in _names(json.loads(row.request_body))]
    assert [name for name in names if "cvc" in name or "cvv" in name or "csc" in name] == []
    assert leaks(row) == []


def _names(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(name for inner in value.values() for name in _names(inner))]
    return []


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("number", WRITTEN)
@pytest.mark.parametrize(
    "address",
    [
        "/v1/payment_intents/{}",
        "/v1/payment_intents/{}/confirm",
        "/v1/{}?limit=1",
        "/v1/events?starting_after={}",
        "/v1/events?{}=1&limit=2",
        "/v1/events?card[number]={}&card[cvc]=937",
    ],
)
def test_a_card_in_an_address_is_masked(acme: ApiClient, address: str, number: str) -> None:
    for written in (quote(number), quote(quote(number)), number.replace(" ", "+")):
        row = logged(acme.get(address.format(written)))

        assert leaks(row) == [], (row.path, row.query)
        assert "cvc" not in (row.query or "")


def test_a_query_is_shown_as_it_was_sent_but_for_its_secrets(acme: ApiClient) -> None:
    plain = logged(acme.get("/v1/events?limit=2&expand[]=data.a%20b&x=%FF&y=Y%C4%B1lmaz"))
    secret = logged(acme.get("/v1/events?limit=2&client_secret=abc&a=sk_sandbox_abc&cvc=937&b=ç d"))

    assert plain.query == "limit=2&expand[]=data.a%20b&x=%FF&y=Y%C4%B1lmaz"
    assert secret.query == ("limit=2&client_secret=[redacted]&a=sk_sandbox_[redacted]&b=%C3%A7+d")


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("number", WRITTEN)
def test_headers_show_no_secret(acme: ApiClient, number: str) -> None:
    as_key = acme.post("/v1/customers", {}, idempotency_key=_on_the_wire(f"order {number}"))
    own_key = acme.post("/v1/customers", {}, idempotency_key=acme.key)
    bearer = raw("GET", "/v1/balance", headers={"authorization": f"Bearer {_on_the_wire(number)}"})

    rows = [logged(answer) for answer in (as_key, own_key, bearer)]
    assert [leaks(row) for row in rows] == [[], [], []]
    assert rows[0].idempotency_key.startswith("order")
    assert rows[1].idempotency_key == f"sk_sandbox_…{acme.key[-4:]}"


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("around", ["x{}", "0{}", "Bearer{}", "a%20{}", "\\n{}", "a%2520{}"])
def test_no_column_shows_a_key_whatever_it_stands_beside(acme: ApiClient, around: str) -> None:
    text = around.format(acme.key)

    posted = acme.post("/v1/customers", {"description": text, text: "x"}, idempotency_key=text)
    rows = [logged(posted), logged(acme.get(f"/v1/customers/{text}?a={text}&{text}=1"))]

    assert [leaks(row) for row in rows] == [[], []]


def _on_the_wire(text: str) -> str:
    return text.encode().decode("latin-1")


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "body",
    [
        json.dumps(payment(CARD)).encode()[:-1],
        b'{"number": "4242424242424242", "number": "1"}',
        f"number={CARD}&cvc={CVC}".encode(),
        b"[" * 5000,
    ],
)
def test_a_body_that_cannot_be_parsed_is_not_shown(acme: ApiClient, body: bytes) -> None:
    row = logged(acme.post(PAYMENTS, body))

    assert (row.error_code, row.request_body) == ("body_invalid", None)
    assert leaks(row) == []


@pytest.mark.parametrize(
    "text", ['"\\ud800"', '"a\\u0000b"', "9" * 100, "1e400", "[" * 300 + "]" * 300]
)
def test_a_body_that_no_database_could_keep_is_logged(acme: ApiClient, text: str) -> None:
    row = logged(acme.post("/v1/customers", f'{{"name": {text}, "phone": "1"}}'.encode()))

    assert row.status == 400
    assert '"phone":"1"' in row.request_body


def test_without_the_scrubber_these_tests_would_fail(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "scrub", lambda value, name=None: value)

    in_body = logged(acme.post("/v1/customers", {"description": f"{CARD} {CVC} {acme.key}"}))
    in_query = logged(acme.get(f"/v1/events?a={CARD}"))

    assert leaks(in_body) == ["card", "cvc", "key"]
    assert leaks(in_query) == ["card"]


# --- How much -------------------------------------------------------------------------------


@pytest.mark.parametrize("filler", ["a", "ş", "€", "😀", "\n"])
def test_a_long_body_is_cut_at_16_kilobytes(acme: ApiClient, filler: str) -> None:
    body = {"metadata": {f"k{n}": filler * 5_000 for n in range(4)}, "name": "last"}

    row = logged(acme.post("/v1/customers", body))

    assert row.truncated
    assert 16_000 < len(row.request_body.encode()) <= 16_384
    assert row.request_body.startswith('{"metadata":{"k0":"')
    assert leaks(row) == []


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("offset", range(-20, 4))
def test_no_half_of_a_card_number_is_left_at_the_cut(offset: int) -> None:
    before = '{"a":"","b":"'
    body = {"a": "x" * (redaction.MAX_BYTES - len(before) + offset), "b": f"{CARD} and more"}

    text, is_cut = redaction.body_text(body)

    assert is_cut
    assert "4242424" not in text


QUOTE = '"'  # Takes two characters in JSON, and long to scrub.
FILLERS = ("a", "ş", "€", "😀", QUOTE, "x y")
ITEMS = st.lists(
    st.dictionaries(
        st.sampled_from(["name", "amount", "cards_used", "metadata", "is_open", "ürün"]),
        st.sampled_from([None, True, False, 0, 12500, int(CARD), "", f"Ada {CARD} Ada"])
        | st.builds(str.__mul__, st.sampled_from(FILLERS), st.integers(0, 2000)),
    ),
    min_size=1, max_size=12,
)  # fmt: skip


def redacted_then_cut(body: Any) -> tuple[str, bool]:
    """Return what `body_text` says, found by redacting all of the body first."""
    whole = json.dumps(scrub(body), ensure_ascii=False, separators=(",", ":")).encode()
    kept = whole[: redaction.MAX_BYTES].decode("utf-8", "ignore")
    return kept, len(whole) > redaction.MAX_BYTES


def assert_kept_as_if_all_were_redacted(items: list[Any], offset: int, filler: str) -> None:
    # A number stands at the cut, or some characters beside it.
    room = redaction.MAX_BYTES - len(json.dumps(items, ensure_ascii=False).encode()) + offset
    spread = filler * max(0, room // len(filler.encode()))
    body = {"data": items, "spread": spread, "number_behind": CARD, "last": [1, CARD]}

    text, is_cut = redaction.body_text(body)

    expected, is_cut_there = redacted_then_cut(body)
    assert text[-200:] == expected[-200:]  # pytest compares long texts for seconds.
    assert (text == expected, is_cut) == (True, is_cut_there)
    assert not contains_card_number(text)
    assert not re.search("4242424", text)


@given(ITEMS, st.integers(-80, 40), st.sampled_from(FILLERS))
def test_any_kept_part_is_what_redacting_all_would_leave(
    items: list[Any], offset: int, filler: str
) -> None:
    assert_kept_as_if_all_were_redacted(items, offset, filler)


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("filler", [one for one in FILLERS if one != QUOTE])
def test_a_number_anywhere_at_the_cut_is_masked_as_before_it(filler: str) -> None:
    for offset in range(-80, 40):
        assert_kept_as_if_all_were_redacted([], offset, filler)


class _CutsTexts(redaction._Excerpt):
    """Cuts a text where the room ends, and so leaves half a number."""

    def of(self, value: Any, depth: int = 0) -> Any:
        return super().of(value[: max(0, self._left)] if isinstance(value, str) else value, depth)


class _EndsEarly(redaction._Excerpt):
    """Counts a value for more than it takes in the text."""

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= 8
        return super().of(value, depth)


@pytest.mark.parametrize("planted", [_CutsTexts, _EndsEarly])
def test_an_excerpt_with_a_fault_is_found(planted: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_Excerpt", planted)

    with pytest.raises(AssertionError):
        test_a_number_anywhere_at_the_cut_is_masked_as_before_it("a")


def test_a_long_list_costs_no_more_than_its_kept_part(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(redaction, "scrub", lambda value: asked.append(value) or scrub(value))
    body = {"data": [{"id": f"pi_{n:020}", "description": "ş" * 700} for n in range(100)]}

    text, is_cut = redaction.body_text(body)

    [shown] = asked
    assert (len(text.encode()), is_cut) == (redaction.MAX_BYTES, True)
    assert len(shown["data"]) * 700 < redaction.MAX_BYTES + 2 * 750


def test_a_list_of_many_objects_is_cut(acme: ApiClient) -> None:
    for _ in range(30):
        acme.post("/v1/payment_intents", {"amount": 100, "currency": "try"})

    listed = acme.get("/v1/events?limit=30")

    row = logged(listed)
    assert (row.truncated, len(row.response_body)) == (True, 16_384)
    assert listed.response.content.decode()[:1000].startswith(row.response_body[:500])


# --- Whatever comes -------------------------------------------------------------------------

bodies = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
    | st.sampled_from([*WRITTEN, int(CARD)]),
    lambda inner: st.lists(inner)
    | st.dictionaries(st.text() | st.sampled_from(["cvc", "card", "Cvv2", CARD]), inner)
    | st.dictionaries(st.sampled_from(["number", "cvc", "exp_year", "x"]), inner).map(CardInput),
    max_leaves=15,
)  # fmt: skip


@given(bodies)
def test_any_body_becomes_text_without_a_card(body: Any) -> None:
    text, _is_cut = redaction.body_text(body)

    text.encode()
    assert "\x00" not in text
    assert not contains_card_number(text.replace(":", "\n" * 5).replace(",", "\n" * 5))
    assert [name for name in _names(json.loads(text)) if "cvc" in name.lower()] == []


@given(st.text(), st.binary())
def test_any_address_and_header_becomes_a_line(text: str, wire: bytes) -> None:
    lines = [
        redaction.line(text, most=100),
        redaction.query_text(wire.decode("latin-1")) or "",
        redaction.query_text(text) or "",
        redaction.header_text(wire.decode("latin-1"), most=100),
    ]

    for line in lines:
        line.encode()
        assert "\x00" not in line
        assert not contains_card_number(line)


def test_confirming_shows_the_card_that_was_tried(acme: ApiClient, bank: BankTransport) -> None:
    created = acme.post(PAYMENTS, {"amount": 12500, "currency": "try"})

    confirmed = acme.post(f"{PAYMENTS}/{created['id']}/confirm", confirmation())

    shown = request_body(confirmed)["payment_method_data"]["card"]
    assert shown["number"] == "424242******4242"
    assert logged(confirmed).object_id == created["id"]
