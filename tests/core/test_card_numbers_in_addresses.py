"""A card number in an address is refused, however it is spelled, and written down nowhere (I10)."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import product
from urllib.parse import quote, unquote

import pytest
from django.test import Client

from api import redaction
from core.rest import query
from tests.stage import described
from tests.stage.books import every_row, everything_cached
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment
from tests.stage.hooks import created, endpoint
from tests.stage.refusals import assert_envelope, raw
from tests.stage.web_process import WebProcess

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# Of those of contract 11, one whose masked form, read twice, does not spell the whole.
CARD = "5526080000000006"
GROUPS = ("5526", "0800", "0000", "0006")


def in_digits_from(zero: int) -> str:
    """Write the number in the script whose nought is at that code point."""
    return "".join(chr(zero + int(digit)) for digit in CARD)


# As a browser, a till or a spreadsheet writes them.
SPELLINGS = {
    "plain": CARD,
    "spaces": " ".join(GROUPS),
    "single spaces": " ".join(CARD),
    "dashes": "-".join(GROUPS),
    "dots": ".".join(GROUPS),
    "en dashes": "–".join(GROUPS),
    "no-break spaces": "\u00a0".join(GROUPS),
    "tabs": "\t".join(GROUPS),
    "full-width": in_digits_from(0xFF10),
    "arabic": in_digits_from(0x0660),
    "mathematical": in_digits_from(0x1D7CE),
    "zero-width": "\u200b".join(CARD),
    "soft hyphens": "\u00ad".join(GROUPS),
    "word joiners": "\u2060".join(GROUPS),
    "a mark before it": "\ufeff" + CARD,
    "NULs": "\x00".join(GROUPS),
    "after words": f"card {CARD}",
    "before words": f"{CARD} tea",
    "quoted": f'"{CARD}"',
    "in an address": f"{CARD}@example.com",
}


def encoded(text: str, times: int) -> str:
    """Percent-encode every character; once more only the `%` of the time before."""
    once = "".join(f"%{byte:02x}" for byte in text.encode())
    return once.replace("%", "%" + "25" * (times - 1))


# Texts that may stand in an address, by the way in which they came about.
WRITTEN = {
    **{how: quote(text) for how, text in SPELLINGS.items()},
    **{f"{how}, encoded {n} times": encoded(text, n)
       for how, text in SPELLINGS.items() for n in (1, 2, 3, 4)},
    "pluses": "+".join(GROUPS),
    "partly encoded": f"%35{CARD[1:]}",
    "partly encoded twice": "5526%252008%30%2530%200000+0006",
    "another encoding's spaces": "%a0".join(GROUPS),
    "another encoding's spaces, encoded twice": "%25a0".join(GROUPS),
}  # fmt: skip
# A body is text already: test_card_numbers_elsewhere.py has the numbers written as they are.
ENCODED = {how: text for how, text in WRITTEN.items() if "encoded" in how and "NULs" not in how}
SOME = ["plain", "spaces", "full-width, encoded 2 times"]


def shows_the_card(text: str) -> bool:
    """Tell by the digits alone, whatever stands between them: not by our own detection."""
    for _ in range(8):
        digits = (str(unicodedata.decimal(char)) for char in text if char.isdecimal())
        if CARD in "".join(digits):
            return True
        text = unquote(text)
    return False


def as_text(line: str) -> str:
    """Return a line of JSON without the escapes that are digits themselves."""
    table, brace, rest = line.partition("{")
    return table + json.dumps(json.loads(brace + rest), ensure_ascii=False)


def all_written(said: str) -> Iterator[str]:
    """Yield every line of the log, every row and what Redis holds."""
    yield from map(as_text, said.splitlines())
    yield from (as_text(row) for row in every_row("default"))
    yield from everything_cached()


def assert_refused(answer: Answer) -> None:
    assert answer.refusal == (400, "card_data_in_url", None), answer.response.request
    assert_envelope(answer)
    assert not shows_the_card(json.dumps(answer.body, ensure_ascii=False))


# Queries that are refused for another reason too: for a name that the refusal tells, say.
HALF_RIGHT = ["{}=1", "x=1&{}", "%ff{}=1", "{}=%00", "{}[[=1", "x=1&" * 1500 + "{}=1"]


def places() -> Iterator[str]:
    """Yield every address that the schema knows, with `{}` in each place in turn."""
    for path, item in described.document()["paths"].items():
        if "{" in path:
            yield re.sub(r"{\w+}", "{}", path)
        for parameter in item.get("get", {}).get("parameters", []):
            if parameter.get("in") == "query":
                name = parameter["name"]
                yield f"{path}?{name}{'[order]' if name == 'metadata' else ''}={{}}"
    yield "/v1/payment_intents?metadata[{}]=x"
    for path in ("/v1/balance", "/v1/nothing", "/v1/search"):
        yield f"{path}/{{}}"
        yield from (f"{path}?{half}" for half in HALF_RIGHT)


# --- Refused ----------------------------------------------------------------------------------


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("path", ["/v1/payment_intents?q=", "/v1/search?limit=1&q=", "/v1/"])
def test_a_card_number_is_refused_however_it_is_spelled(
    acme: ApiClient, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for how in WRITTEN:
        assert_refused(acme.get(path + WRITTEN[how]))

    leaks = [text for text in all_written(capfd.readouterr().err) if shows_the_card(text)]
    assert leaks == []
    print(f"{len(WRITTEN)} spellings")  # noqa: T201


def test_a_card_number_is_refused_wherever_it_stands(
    acme: ApiClient, capfd: pytest.CaptureFixture[str]
) -> None:
    everywhere = list(places())

    for place in everywhere:
        for how in SOME:
            assert_refused(acme.get(place.replace("{}", WRITTEN[how])))
        assert_refused(acme.post(place.replace("{}", CARD)))

    leaks = [text for text in all_written(capfd.readouterr().err) if shows_the_card(text)]
    assert leaks == []
    print(f"{len(everywhere)} places")  # noqa: T201


def test_a_card_number_is_refused_before_the_key_is_looked_at() -> None:
    assert_refused(raw("GET", f"/v1/balance?q={CARD}"))


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("how", SOME)
@pytest.mark.parametrize(
    "path", ["/{}", "/nothing?q={}", "/docs/errors?q={}", "/3ds/{}", "/3ds/att_x.y/return?q={}"]
)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_no_page_shows_a_card_number_of_its_address(
    client: Client, path: str, how: str, accept: str, capfd: pytest.CaptureFixture[str]
) -> None:
    page = client.get(path.replace("{}", WRITTEN[how]), headers={"accept": accept})

    assert not shows_the_card(page.content.decode())
    assert [text for text in all_written(capfd.readouterr().err) if shows_the_card(text)] == []


# --- In an address that a body holds ----------------------------------------------------------


def places_of_a_body(acme: ApiClient) -> dict[str, Callable[[str], Answer]]:
    """Return who takes addresses, and texts that may hold one; each is given what it holds."""
    waiting = acme.post("/v1/payment_intents", payment(confirm=False))["id"]
    hooks = created(acme)["id"]
    confirm, update = f"/v1/payment_intents/{waiting}/confirm", f"/v1/webhook_endpoints/{hooks}"
    return {
        "return_url": lambda url: acme.post("/v1/payment_intents", payment(return_url=url)),
        "return_url at confirm": lambda url: acme.post(confirm, {"return_url": url}),
        "url": lambda url: acme.post("/v1/webhook_endpoints", endpoint(url=url)),
        "url at update": lambda url: acme.post(update, {"url": url}),
        "description": lambda url: acme.post("/v1/payment_intents", payment(description=url)),
        "metadata": lambda url: acme.post("/v1/customers", {"metadata": {"see": url}}),
        "unknown": lambda url: acme.post("/v1/customers", {"website": [url]}),
    }


@pytest.mark.dear("every spelling of a number, in every text of three bodies")
def test_a_card_number_in_a_bodys_address_is_refused_however_it_is_spelled(
    acme: ApiClient, capfd: pytest.CaptureFixture[str]
) -> None:
    places, tried = places_of_a_body(acme), 0
    params = {"metadata": "metadata[see]", "unknown": "website[0]"}

    for place, how in product(places, ENCODED):
        for around in ("https://acme.example/{}", "https://acme.example/back?order={}&x=1"):
            answer = places[place](around.replace("{}", ENCODED[how]))
            param = params.get(place, place.partition(" ")[0])
            assert answer.refusal == (400, "card_data_not_allowed", param), (place, how)
            assert not shows_the_card(json.dumps(answer.body, ensure_ascii=False))
            tried += 1

    assert [text for text in all_written(capfd.readouterr().err) if shows_the_card(text)] == []
    assert tried > 100
    print(f"{tried} addresses")  # noqa: T201


# --- What would be found ----------------------------------------------------------------------


def test_a_number_that_is_let_through_would_be_found(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "contains_encoded_card_number", lambda *_, **__: False)
    monkeypatch.setattr(redaction, "query_text", lambda text: text)

    answers = {how: acme.get(f"/v1/customers?colour={WRITTEN[how]}") for how in WRITTEN}

    for how, answer in answers.items():
        with pytest.raises(AssertionError):
            assert_refused(answer)
        assert shows_the_card(as_text(row_of(answer))), how


def row_of(answer: Answer) -> str:
    [row] = [row for row in every_row("default") if answer.headers["Request-Id"] in row]
    return row


# --- Over the wire ----------------------------------------------------------------------------


REQUEST_LINES = {
    "a path": "GET /v1/customers/{} HTTP/1.1",
    "a query": "GET /v1/search?q={} HTTP/1.1",
    "a page": "GET /{}?q={} HTTP/1.1",
    "no API": "GET http://127.0.0.1/{} HTTP/1.1",
    "an endless line": "GET /v1/search?q={}" + "x" * 9000 + " HTTP/1.1",
    "no HTTP": "GET /v1/search?q={}",
    "no method": "{}",
}
ONE_ONLY = "Host: 127.0.0.1\r\nConnection: close"


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.slow
@pytest.mark.parametrize("line", REQUEST_LINES)
def test_what_gunicorn_is_sent_is_in_none_of_its_lines(web: WebProcess, line: str) -> None:
    # Bytes as they are, too: spaces that are none in HTTP, and other scripts' digits.
    numbers = [*WRITTEN.values(), *SPELLINGS.values()]

    # One is closed by its client: of such, the service first asks for 250 ms if it still listens.
    for number, then_close in [(CARD, True), *((number, False) for number in numbers)]:
        head = f"{REQUEST_LINES[line].replace('{}', number)}\r\n{ONE_ONLY}\r\n\r\n"
        answer = web.send(head.encode(), then_close=then_close)
        assert answer.status
        assert not shows_the_card(answer.content.decode())

    assert [text for text in all_written(web.log) if shows_the_card(text)] == []
    assert web.is_alive()
    print(f"{len(numbers)} request lines")  # noqa: T201
