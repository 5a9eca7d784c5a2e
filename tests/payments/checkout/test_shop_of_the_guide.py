"""The shop of docs/how-to/checkout.md, as it is printed there, sells two tea glasses."""

import io
import re
from typing import Any

import pytest

from devstack.state import ROOT
from merchants import sites
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import session
from tests.stage.client import ApiClient
from tests.stage.payment_pages import Payer

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAGE = (ROOT / "docs" / "how-to" / "checkout.md").read_text()
LINES_MAX = 30


@pytest.fixture
def shop(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> type:
    """The shop's handler; it asks the service in this process."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len([one for one in code.splitlines() if one]) <= LINES_MAX
    monkeypatch.setenv("BASE_URL", "http://127.0.0.1:8000")
    monkeypatch.setenv("SECRET_KEY", acme.key)
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(code, "shop.py", "exec"), names)  # noqa: S102 - The guide's own words.
    names["ask"] = lambda path, body=None: (acme.post(path, body) if body else acme.get(path)).body
    sites.register_callback(acme.merchant, "http://localhost:3000/return")
    return names["Shop"]


def asked(shop: type, method: str, path: str) -> str:
    """Return what the shop answers, head and body."""
    handler: Any = shop.__new__(shop)
    handler.path, handler.wfile = path, io.BytesIO()
    handler.request_version, handler.requestline = "HTTP/1.1", f"{method} {path}"
    handler.client_address = ("127.0.0.1", 1)
    getattr(handler, f"do_{method}")()
    return handler.wfile.getvalue().decode()


def test_a_press_leads_to_the_page_and_the_way_back_shows_that_it_is_paid(
    shop: type, acme: ApiClient, bank: BankTransport
) -> None:
    assert "Buy two tea glasses" in asked(shop, "GET", "/")
    [address] = re.findall(r"Location: (\S+)", asked(shop, "POST", "/"))
    [made] = acme.get("/v1/checkout/sessions")["data"]
    assert (address, made["amount_total"]) == (made["url"], 12500)
    way_back = f"/return?session={made['id']}"
    assert asked(shop, "GET", way_back).endswith("unpaid")

    assert "Payment complete" in Payer().pay(address).text

    assert asked(shop, "GET", way_back).endswith("\npaid")
    assert session(acme, made["id"])["success_url"].endswith("{CHECKOUT_SESSION_ID}")
