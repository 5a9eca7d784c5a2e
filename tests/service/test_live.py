"""A live installation behind a proxy that ends TLS: people, hosts, a first payment."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.stage.emptying import empty
from tests.stage.live import (
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

SPELLINGS = ["{}", "{}.", "{}:443", "{}:8443", "{}.:443"]


def spelled(host: str) -> list[str]:
    return [one.format(name) for one in SPELLINGS for name in (host, host.upper(), host.title())]


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
    assert len(tried) == 75


@pytest.mark.parametrize("host", spelled(API))
def test_no_spelling_of_the_apis_host_serves_a_page_of_people(
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
