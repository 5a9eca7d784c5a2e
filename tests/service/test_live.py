"""A live installation behind a proxy that ends TLS: people, hosts, the clear, a first payment."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from merchants.models import RequestLog
from tests.stage.draining import until
from tests.stage.emptying import empty
from tests.stage.live import (
    ALSO_API,
    API,
    OPERATOR,
    PANEL,
    SHOP,
    SIGN_IN,
    Browser,
    LiveInstallation,
    live_installation,
    pay,
)
from tests.stage.oldbank.process import OldBank
from tests.stage.visitors import PASSWORD
from tests.stage.web_process import RawAnswer

# The databases are made for the tests that are marked; nothing here uses a transaction of its own.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]


@pytest.fixture(scope="module")
def live(
    django_db_setup: None,
    django_db_blocker: Any,
    tmp_path_factory: Any,
    old_bank_process: OldBank,
) -> Iterator[LiveInstallation]:
    with django_db_blocker.unblock():
        with live_installation(tmp_path_factory.mktemp("live"), old_bank_process) as running:
            yield running
        empty("default")


# --- A merchant's first payment ------------------------------------------------------------------


def test_a_new_live_merchant_takes_a_payment_with_3d_secure(
    live: LiveInstallation, old_bank_process: OldBank
) -> None:
    challenge = live.challenge()

    arrived = pay(live, challenge)

    paid = live.call("GET", f"/v1/payment_intents/{challenge['id']}").body
    assert arrived.header("Location") == f"{SHOP}/back?payment_intent={paid['id']}"
    assert (paid["status"], paid["livemode"], paid["amount_charged"]) == ("succeeded", True, 12500)
    [line] = old_bank_process.book()
    assert (line.amount, line.currency, line.merchant) == (12500, "try", live.merchant_id)
    fee = live.call("GET", "/v1/balance_transactions").body["data"][0]["fee"]
    assert fee == 338  # 2.5 % are 312.5, and 0.25 on top.


# --- Sign-in -------------------------------------------------------------------------------------


def test_an_owner_signs_in_with_a_second_factor(live: LiveInstallation) -> None:
    browser = Browser(live, PANEL)

    steps = browser.sign_in(live.owner.email, live.password)

    assert steps == ["/account/code", "/panel/"]
    assert browser.get(f"/panel/{live.merchant_id}/payments").status == 200
    session = next(one for one in browser.cookies.values() if one.key.endswith("sessionid"))
    assert (session.key, session["secure"], session["httponly"], session["path"]) == (
        "__Host-sessionid", True, True, "/",
    )  # fmt: skip


def test_a_person_without_a_second_factor_reaches_only_the_pages_to_make_one(
    live: LiveInstallation,
) -> None:
    browser = Browser(live, PANEL)

    steps = browser.sign_in(OPERATOR, PASSWORD)

    assert steps == ["/account/security", None]
    for path in ("/admin/", "/admin/desk/cases", "/panel/", "/account/sessions"):
        assert browser.get(path).header("Location") == "/account/security", path


# --- Hosts ---------------------------------------------------------------------------------------


def spelled(host: str) -> list[str]:
    """Return a host in all its spellings: case, a last dot, no port, the usual and another one."""
    ports = [host, f"{host}:443", f"{host}:8443"]
    return [*ports, host.upper(), host.title(), f"{host}.", f"{host.upper()}.:8443"]


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_no_spelling_of_the_panels_host_serves_the_api_or_payers(
    live: LiveInstallation, method: str
) -> None:
    payers = live.challenge()["next_action"]["redirect_to_url"]["url"].removeprefix(
        f"https://{API}"
    )
    paths = ["/v1/balance", "/v1/customers", "/v1", payers, f"{payers}/return"]
    tried = [(path, host) for path in paths for host in spelled(PANEL)]

    for path, host in tried:
        answer = live.call(method, path, host=host)
        assert answer.status == 404, (path, host)
    assert len(tried) == 35


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("host", [*spelled(API), ALSO_API])
def test_no_spelling_of_the_apis_hosts_serves_a_page_of_people(
    live: LiveInstallation, host: str
) -> None:
    browser = Browser(live, host)
    paths = [SIGN_IN, "/panel/", "/admin/", "/admin/desk/cases", "/account/password/reset"]

    for path in paths:
        led = browser.get(f"{path}?next=/x")
        assert (led.status, led.header("Location")) == (302, f"https://{PANEL}{path}?next=/x")
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert live.ask(method, path, host=host).status == 404, (method, path)
    assert not browser.cookies
    assert live.call("GET", "/v1/balance", host=host).status == 200


@pytest.mark.parametrize("host", spelled(PANEL))
def test_every_spelling_of_the_panels_host_serves_the_sign_in(
    live: LiveInstallation, host: str
) -> None:
    assert Browser(live, host).get(SIGN_IN).status == 200


def test_a_request_line_that_names_the_other_host_is_refused(live: LiveInstallation) -> None:
    for line, host in ((PANEL, API), (API, PANEL), (f"{PANEL.upper()}.:1", API)):
        answer = live.call("GET", f"https://{line}/v1/balance", host=host)
        assert answer.refusal == (400, "parameter_invalid")
    assert live.call("GET", f"https://{API}:1/v1/balance", host=f"{API}.").status == 200


# --- In the clear --------------------------------------------------------------------------------

IN_THE_CLEAR = {
    "no word of the proxy": None,
    "http": "http",
    "another word": "on",
    "upper case": "HTTPS",
    "empty": "",
}


@pytest.mark.parametrize("proto", IN_THE_CLEAR.values(), ids=IN_THE_CLEAR)
@pytest.mark.parametrize("host", [API, PANEL])
def test_a_call_in_the_clear_is_refused_and_never_led_on(
    live: LiveInstallation, host: str, proto: str | None
) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        answer = live.call(method, "/v1/customers", host=host, **{"X-Forwarded-Proto": proto})
        assert answer.refusal == (403, "https_required")
        assert "roll this key" in answer.body["error"]["message"]
        assert answer.header("Location") is None


def test_a_call_in_the_clear_stands_in_its_merchants_request_log(live: LiveInstallation) -> None:
    proto = {"X-Forwarded-Proto": "http"}
    refused = live.call("POST", "/v1/customers", {"email": "ada@example.com"}, **proto)

    rows = RequestLog.objects.filter(id=refused.header("Request-Id"))
    until(rows.exists)
    row = rows.get()

    assert (row.merchant_id, row.error_code, row.status) == (
        live.merchant_id, "https_required", 403,
    )  # fmt: skip
    assert (row.api_key, row.request_body) == (live.key_id, None)
    found = live.call("GET", "/v1/request_logs?error_code=https_required").body["data"]
    assert refused.header("Request-Id") in {one["id"] for one in found}


def test_nothing_of_a_body_in_the_clear_is_waited_for(live: LiveInstallation) -> None:
    lines = [f"POST /v1/customers HTTP/1.1\r\nHost: {API}\r\nAuthorization: Bearer {live.key}"]
    for told in ("Content-Length: 500", "Transfer-Encoding: chunked",
                 "Content-Length: 500\r\nExpect: 100-continue"):  # fmt: skip
        head = "\r\n".join([*lines, told, "", ""]).encode()
        with live.web.connect() as wire:
            wire.sendall(head)
            first = wire.recv(12, socket.MSG_PEEK | socket.MSG_WAITALL)
            answer = RawAnswer.read(wire)
        assert first == b"HTTP/1.1 403", told
        assert (answer.error["code"], answer.headers["Connection"]) == ("https_required", "close")


def test_a_client_that_sends_its_body_in_the_clear_reads_the_answer(live: LiveInstallation) -> None:
    for size in (10, 60_000):
        answer = live.call("POST", "/v1/customers", "x" * size, **{"X-Forwarded-Proto": "http"})
        assert answer.refusal == (403, "https_required")


def test_a_page_in_the_clear_leads_to_https_and_health_is_told(live: LiveInstallation) -> None:
    plain = {"X-Forwarded-Proto": "http"}

    led = live.ask("GET", SIGN_IN, host=PANEL, **plain)

    assert (led.status, led.header("Location")) == (301, f"https://{PANEL}{SIGN_IN}")
    assert live.ask("GET", "/healthz", host="10.0.0.7", **plain).status == 200


@pytest.mark.parametrize("proto", ["https,http", "http, https", "https, https"])
def test_two_words_of_a_proxy_in_one_line_are_no_word(live: LiveInstallation, proto: str) -> None:
    for path, host in (("/v1/balance", API), (SIGN_IN, PANEL)):
        answer = live.call("GET", path, host=host, **{"X-Forwarded-Proto": proto})
        assert answer.refusal == (400, "header_repeated")
