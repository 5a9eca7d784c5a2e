"""Requests over a real socket to gunicorn: those of broken, slow and hostile clients too."""

import json

import pytest

from core import redis
from merchants.models import RequestLog
from tests.stage.draining import until
from tests.stage.web_process import RawAnswer, WebProcess, request, whole

# The databases are made for the tests that are marked; nothing here uses a transaction of its own.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

CARD = b"4242424242424242"
FAILED_HERE = "limit:failed:127.0.0.1"


def chunk(part: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(part), part)


def assert_envelope(answer: RawAnswer, status: int, code: str) -> None:
    assert (answer.status, answer.error["code"]) == (status, code)
    assert answer.headers["Request-Id"] == answer.error["request_id"]
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"


def row_of(answer: RawAnswer) -> RequestLog:
    """Return the answer's row in the request log, which is written after it."""
    rows = RequestLog.objects.filter(id=answer.headers["Request-Id"])
    until(rows.exists)
    return rows.get()


# --- What is no request ---------------------------------------------------------------------

HOST = b"Host: 127.0.0.1\r\n"
NO_REQUESTS = {
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 garbage\r\n\r\n",
    "card number": CARD + b"\r\n\r\n",
    "no version": b"GET /v1/balance\r\n\r\n",
    "small method": b"get / HTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/9": b"GET / HTTP/9.9\r\n\r\n",
    "raw bytes in the path": b"GET /v1/\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "space in the path": b"GET /v1/a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "header without a colon": b"GET / HTTP/1.1\r\n" + HOST + b"X-" + CARD + b"\r\n\r\n",
    "header with a space": b"GET / HTTP/1.1\r\n" + HOST + b"X y: 1\r\n\r\n",
    "folded header": b"GET / HTTP/1.1\r\n" + HOST + b"X: 1\r\n  " + CARD + b"\r\n\r\n",
    "NUL in a header": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\0b\r\n\r\n",
    "strange expectation": b"GET / HTTP/1.1\r\n" + HOST + b"Expect: " + CARD + b"\r\n\r\n",
    "length and chunks": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "negative length": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
    "length of words": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: ten\r\n\r\n",
    "unknown coding": b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: x\r\n\r\n",
    **{coding: b"POST /v1/customers HTTP/1.1\r\n" + HOST + coding.encode() + b"\r\n\r\n0\r\n\r\n"
       for coding in (
           "Transfer-Encoding: chunked, chunked",
           "Transfer-Encoding: gzip, chunked",
           "Transfer-Encoding: deflate, chunked",
           "Transfer-Encoding: identity, chunked",
           "Transfer-Encoding: chunked, identity",
           "Transfer-Encoding: identity",
           "Transfer-Encoding: gzip",
           "Transfer-Encoding: xchunked",
           "Transfer-Encoding: chunked;q=1",
           "Transfer-Encoding: \x0bchunked",
           "Transfer-Encoding: ,chunked",
           "Transfer-Encoding:",
           "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
           "Transfer-Encoding: gzip, chunked\r\nContent-Length: 5",
       )},
    "chunks in HTTP/1.0": b"POST / HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
    "no host": b"GET /v1/balance HTTP/1.1\r\n\r\n",
    "no host, and the health check": b"GET /healthz HTTP/1.1\r\n\r\n",
    "an address, and no host": b"GET http://127.0.0.1/healthz HTTP/1.1\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_what_is_not_http_is_refused_in_the_envelope(web: WebProcess, name: str) -> None:
    answer = web.send(NO_REQUESTS[name], then_close=True)

    assert_envelope(answer, 400, "parameter_invalid")
    assert CARD not in answer.content


def test_an_endless_request_line_is_414(web: WebProcess) -> None:
    answer = web.send(b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n")

    assert_envelope(answer, 414, "parameter_invalid")


def test_a_header_of_100_kilobytes_is_431(web: WebProcess) -> None:
    answer = web.send(request(web, b"X: " + b"a" * 100_000))

    assert_envelope(answer, 431, "parameter_invalid")


def test_65_headers_are_431(web: WebProcess) -> None:
    answer = web.send(request(web, *(b"X-%d: 1" % n for n in range(65))))

    assert_envelope(answer, 431, "parameter_invalid")


def test_a_bad_host_and_no_host_are_answered(web: WebProcess) -> None:
    bad = web.send(b"GET /v1/balance HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    none = web.send(b"GET /nothing HTTP/1.0\r\n\r\n")

    assert_envelope(bad, 400, "parameter_invalid")
    assert_envelope(none, 404, "url_not_found")


OTHERS = [
    b"http://evil.example",
    b"http://evil.example:80",
    b"http://127.0.0.1.evil.example",
    b"http://127.0.0.1@evil.example",
    b"http://evil.example@127.0.0.1",
    b"http://evil.example?http://127.0.0.1",
    b"http://evil.example#127.0.0.1",
    b"http://",
    b"http://[::1]",
    b"ftp://127.0.0.1",
    b"x://127.0.0.1",
    b"x-/://127.0.0.1",
]


@pytest.mark.parametrize("address", OTHERS)
def test_a_request_line_that_names_another_host_is_refused(web: WebProcess, address: bytes) -> None:
    for path in (b"/v1/balance", b"/healthz", b"/nothing", b""):
        answer = web.send(b"GET " + address + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")

        assert_envelope(answer, 400, "parameter_invalid")


@pytest.mark.parametrize("address", [b"http://127.0.0.1", b"HTTP://127.0.0.1:4711"])
def test_a_request_line_may_name_our_host(web: WebProcess, address: bytes) -> None:
    line = b"GET " + address + b"/livez HTTP/1.1\r\n"

    assert web.send(line + HOST + b"\r\n").status == 200
    refused = web.send(line.replace(b"livez", b"") + b"Host: evil.example\r\n\r\n")
    assert_envelope(refused, 400, "parameter_invalid")


# --- Headers that come more than once -----------------------------------------------------------

REPEATED = {
    b"PF-Version": (b"2026-11-01", b"2026-11-01"),
    b"pf-version": (b"2026-11-01", b"2020-01-01"),
    b"Origin": (b"https://acme.example", b"https://evil.example"),
    b"Sec-Fetch-Site": (b"same-origin", b"cross-site"),
    b"X-Forwarded-Proto": (b"https", b"https"),
    b"X-forwarded-PROTO": (b"https", b"http"),
    b"Referer": (b"https://acme.example/", b"https://evil.example/"),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_header_of_one_value_that_comes_twice_is_refused(web: WebProcess, name: bytes) -> None:
    twice = [name + b": " + value for value in REPEATED[name]]

    for head in (request(web, *twice, method=b"GET"), request(web, *twice, b"Content-Length: 0")):
        answer = web.send(head)
        assert_envelope(answer, 400, "header_repeated")
        assert answer.error["param"].lower() == name.decode().lower()


@pytest.mark.parametrize("name", [b"Host: 127.0.0.1", b"Content-Type: text/plain"])
def test_the_server_itself_refuses_two_of_these(web: WebProcess, name: bytes) -> None:
    answer = web.send(request(web, name, b"Content-Length: 2") + b"{}")

    assert_envelope(answer, 400, "header_repeated")
    assert answer.error["param"] == name.decode().partition(":")[0]


def test_two_idempotency_keys_are_no_key_and_nothing_is_made(web: WebProcess) -> None:
    before = len(web.acme.get("/v1/customers?limit=100")["data"])

    for keys in ([b"a-1", b"a-2"], [b"a-1", b"a-1"], [b"a-1", b""]):
        twice = [b"Idempotency-Key: " + key for key in keys]
        answer = web.send(request(web, *twice, b"Content-Length: 2") + b"{}")
        assert_envelope(answer, 400, "idempotency_key_invalid")
        assert answer.error["param"] == "Idempotency-Key"

    assert len(web.acme.get("/v1/customers?limit=100")["data"]) == before


def test_a_comma_within_an_idempotency_key_stays_a_comma(web: WebProcess) -> None:
    head = request(web, b"Idempotency-Key: left,right", b"Content-Length: 2")

    first, again = web.send(head + b"{}"), web.send(head + b"{}")

    assert (first.status, first.content) == (again.status, again.content) == (200, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"


def test_two_authorizations_are_refused_and_count_as_a_failed_one(web: WebProcess) -> None:
    own = b"Authorization: Bearer " + web.acme.key.encode()
    redis.call(lambda client: client.delete(FAILED_HERE))

    for second in (own, b"authorization: Bearer x", b"Authorization:"):
        answer = web.send(request(web, second, method=b"GET"))
        assert_envelope(answer, 400, "header_repeated")
        assert answer.error["param"] == "Authorization"

    assert redis.call(lambda client: client.llen(FAILED_HERE)) == 3


def test_a_refusal_of_a_repeated_header_stands_in_the_request_log(web: WebProcess) -> None:
    twice = [b"Idempotency-Key: b-1", b"Idempotency-Key: b-2"]
    refused = web.send(request(web, *twice, b"Content-Length: 2") + b"{}")

    row = row_of(refused)

    assert (row.status, row.error_code) == (400, "idempotency_key_invalid")
    assert row.merchant_id == web.acme.merchant.id


def test_pages_ask_for_one_value_too(web: WebProcess) -> None:
    head = b"POST /account/login HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\nOrigin: a\r\n"

    assert_envelope(web.send(head + b"Origin: b\r\n\r\n"), 400, "header_repeated")
    assert web.send(head + b"\r\n").status == 403


def test_lists_may_come_in_several_lines(web: WebProcess) -> None:
    lists = [b"X-Forwarded-For: 1.1.1.1", b"Accept: text/html", b"Accept: */*"]
    lists += [b"X-Forwarded-For: 2.2.2.2", b"Accept-Language: tr", b"Accept-Language: en"]

    assert web.send(request(web, *lists, b"Content-Length: 2") + b"{}").status == 200


def test_cookies_of_several_lines_are_all_read(web: WebProcess) -> None:
    """A proxy that speaks HTTP/2 to browsers may hand them on so (RFC 9113, 8.2.3)."""
    head = b"GET /account/login HTTP/1.1\r\n" + HOST
    cookies = b"Cookie: theme=dark\r\nCookie: language=tr\r\nCookie: a=1\r\n\r\n"

    page = web.send(head + cookies).content.decode()

    assert ('data-bs-theme="dark"' in page, "Oturum aç" in page) == (True, True)


# --- The key ----------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [b"\xa0", b"\x85", b"\xe2\x80\x8b"])
def test_a_byte_beside_a_key_makes_it_no_key(web: WebProcess, beside: bytes) -> None:
    key = web.acme.key.encode()
    asked = b"GET /v1/balance HTTP/1.1\r\n" + HOST + b"Authorization: %s\r\n\r\n"
    redis.call(lambda client: client.delete(FAILED_HERE))

    for value in (
        b"Bearer " + key + beside,
        b"Bearer " + beside + key,
        beside + b"Bearer " + key,
        b"Bearer" + beside + key,
    ):
        assert_envelope(web.send(asked % value), 401, "api_key_invalid")
    assert web.send(asked % (b"bearer   " + key + b" \t")).status == 200


# --- Slashes within an id -----------------------------------------------------------------------

SLASHES = ["%2F", "%2f", "%5C", "%5c"]


def ask(web: WebProcess, method: str, path: str, body: bytes = b"") -> RawAnswer:
    head = request(web, b"Content-Length: %d" % len(body), method=method.encode())
    return web.send(head.replace(b"/v1/customers", path.encode()) + body)


@pytest.mark.parametrize("slash", SLASHES)
def test_an_encoded_slash_is_part_of_an_id_and_leads_nowhere(web: WebProcess, slash: str) -> None:
    made = ask(web, "POST", "/v1/payment_intents", b'{"amount": 100, "currency": "try"}')
    payment = "/v1/payment_intents/" + json.loads(made.content)["id"]
    paths = {
        f"{payment}{slash}cancel": "POST",
        f"/v1{slash}payment_intents{payment.removeprefix('/v1/payment_intents')}/cancel": "POST",
        f"/v1/payment_intents{slash}{payment.rpartition('/')[2]}": "GET",
        f"/v1/payment_intents/{slash}..{slash}customers": "POST",
        f"{payment}{slash}": "GET",
    }

    for path, method in paths.items():
        for address in (path, f"http://127.0.0.1{path}?limit=1#x"):
            answer = ask(web, method, address, b"{}" if method == "POST" else b"")
            assert_envelope(answer, 404, "url_not_found")

    assert json.loads(ask(web, "GET", payment).content)["status"] == "requires_payment_method"
    row = row_of(ask(web, "POST", f"{payment}{slash}c%61ncel", b"{}"))
    assert (row.path, row.error_code) == (f"{payment}{slash}cancel", "url_not_found")


@pytest.mark.parametrize("slash", SLASHES)
def test_no_page_is_found_by_an_encoded_slash(web: WebProcess, slash: str) -> None:
    pages = ["account/login", "account/password/reset", "docs/errors", "admin/", "healthz/"]
    pages += [f"panel/{web.acme.merchant.id}/payments", "3ds/att_1.x", "3ds/att_1.x/return"]

    for path in pages:
        head, _, tail = path.rpartition("/")
        for address in (f"/{head}{slash}{tail}", f"/{path}{slash}"):
            answer = web.send(f"GET {address} HTTP/1.1\r\n".encode() + HOST + b"\r\n")
            assert_envelope(answer, 404, "url_not_found")
            assert "Location" not in answer.headers


def test_an_encoded_slash_in_a_query_or_twice_encoded_is_a_text(web: WebProcess) -> None:
    for path in ("/v1/search?q=a%2Fb%5Cc", "/v1/request_logs?path=%2Fv1%2Fevents"):
        assert ask(web, "GET", path).status == 200
    assert ask(web, "GET", "/v1/events/evt_%252Fx").error["code"] == "resource_missing"


# --- Bodies ---------------------------------------------------------------------------------


def test_a_chunked_body_is_read_as_the_body(web: WebProcess) -> None:
    chunks = chunk(b'{"email": "ada') + chunk(b'@example.com"}') + b"0\r\n\r\n"

    answer = web.send(request(web, b"Transfer-Encoding: chunked"), chunks)

    assert answer.status == 200
    assert json.loads(answer.content)["email"] == "ada@example.com"


@pytest.mark.parametrize(("size", "status"), [(256 * 1024, 200), (256 * 1024 + 1, 413)])
def test_a_chunked_body_has_the_same_limit(web: WebProcess, size: int, status: int) -> None:
    body = b"{}".ljust(size)
    chunks = b"".join(chunk(body[at : at + 8000]) for at in range(0, size, 8000))

    answer = web.send(request(web, b"Transfer-Encoding: chunked"), chunks, b"0\r\n\r\n")

    assert answer.status == status


@pytest.mark.parametrize("megabytes", [1, 3])
@pytest.mark.parametrize("is_chunked", [True, False])
def test_a_client_that_sends_too_much_gets_to_read_the_413(
    web: WebProcess, megabytes: int, is_chunked: bool
) -> None:
    body = b" " * megabytes * 1024 * 1024
    chunked = (request(web, b"Transfer-Encoding: chunked"), chunk(body), b"0\r\n\r\n")

    answer = web.send(*(chunked if is_chunked else (whole(web, body),)))

    assert_envelope(answer, 413, "body_too_large")


def test_a_client_that_sends_much_with_a_bad_key_gets_to_read_the_401(web: WebProcess) -> None:
    sent = whole(web, b" " * 1024 * 1024).replace(web.acme.key.encode(), b"sk_sandbox_x")

    assert_envelope(web.send(sent), 401, "api_key_invalid")


@pytest.mark.parametrize("rest", [b"zz\r\n", b"5;a=\x01\r\n", b"2\r\n{}xx", CARD + b"z\r\n"])
def test_broken_chunks_are_refused(web: WebProcess, rest: bytes) -> None:
    answer = web.send(request(web, b"Transfer-Encoding: chunked"), rest, then_close=True)

    assert_envelope(answer, 400, "parameter_invalid")


@pytest.mark.parametrize("part", [b'{"email"', b'{"name": "whole, but announced as longer"}'])
def test_a_body_that_ends_early_is_refused(web: WebProcess, part: bytes) -> None:
    head = request(web, b"Content-Length: 100")

    assert_envelope(web.send(head, part, then_close=True), 400, "body_invalid")


def test_chunks_that_end_early_close_the_connection(web: WebProcess) -> None:
    head = request(web, b"Transfer-Encoding: chunked")

    assert web.send(head, b"5\r\n{}", then_close=True).status is None


def test_a_client_that_waits_for_100_continue_is_told_to_go_on(web: WebProcess) -> None:
    with web.connect() as wire:
        wire.sendall(request(web, b"Content-Length: 2", b"Expect: 100-continue"))
        told = wire.recv(100)
        wire.sendall(b"{}")
        answer = RawAnswer.read(wire)

    assert told.startswith(b"HTTP/1.1 100")
    assert answer.status == 200


# --- Connections ----------------------------------------------------------------------------


def test_pipelined_requests_are_answered_in_order_on_one_connection(web: WebProcess) -> None:
    refused = whole(web, b'{"nme": "x"}')
    chunked = request(web, b"Transfer-Encoding: chunked") + chunk(b"{}") + b"0\r\n\r\n"

    with web.connect() as wire, wire.makefile("rb") as file:
        wire.sendall(whole(web, b"{}") + refused + chunked + whole(web, b"[]"))
        answers = [RawAnswer.next(file) for _ in range(4)]

    assert [answer.status for answer in answers] == [200, 400, 200, 400]
    assert len({answer.headers["Request-Id"] for answer in answers}) == 4


def test_a_refused_body_does_not_become_the_next_request(web: WebProcess) -> None:
    smuggled = b"GET /v1/smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    body = smuggled.ljust(300_000)

    with web.connect() as wire, wire.makefile("rb") as file:
        wire.sendall(whole(web, body) + whole(web, b"{}"))
        answers = [RawAnswer.next(file) for _ in range(2)]

    assert [answer.status for answer in answers] == [413, 200]


def test_clients_that_stop_in_the_middle_are_let_go_and_hold_nobody_up(web: WebProcess) -> None:
    half_head, half_body = request(web)[:40], request(web, b"Content-Length: 10") + b"{"

    slow = [web.connect() for _ in range(10)]
    for number, wire in enumerate(slow):
        wire.sendall(half_body if number % 2 else half_head)
    assert web.is_alive()
    answers = [RawAnswer.read(wire) for wire in slow]
    for wire in slow:
        wire.close()

    assert {answer.status for answer in answers} == {None, 400}
    assert web.is_alive()


# --- After all of that ----------------------------------------------------------------------


def test_the_log_is_json_lines_without_what_clients_sent(web: WebProcess) -> None:
    web.send(b"GET /v1/" + CARD + b"?q=" + CARD + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    web.send(b"GET /" + CARD + b" HTTP/1.1\r\n" + HOST + b"\r\n")

    lines = [json.loads(line) for line in web.log.splitlines()]

    assert len(lines) > 40
    assert CARD.decode() not in web.log
    assert web.acme.key not in web.log
    assert "garbage" not in web.log
    assert not [line for line in lines if line["level"] in ("error", "critical")]
    assert web.is_alive()
