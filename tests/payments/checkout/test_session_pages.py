"""The page behind a session's address: its secret opens it, and a look changes nothing."""

from urllib.parse import quote, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from merchants.models import Merchant
from tests.stage.bank_transport import BankTransport
from tests.stage.books import row_counts
from tests.stage.checkouts import SESSIONS, opened
from tests.stage.client import ApiClient
from tests.stage.factories import confirmation, line, payment
from tests.stage.lengths import length, tried

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LOOKS = length(short=20, full=1000)
CANCEL_URL = "https://acme.example/cart/{CHECKOUT_SESSION_ID}"


def path_of(url: str) -> str:
    return urlsplit(url).path


def test_an_open_session_takes_a_card(acme: ApiClient, client: Client) -> None:
    made = opened(acme, cancel_url=CANCEL_URL)

    page = client.get(path_of(made["url"]))

    text = page.content.decode()
    # A browser keeps a page with status 200, card and all.
    assert page.status_code == 203
    assert "₺125.00" in text
    assert f'href="https://acme.example/cart/{made["id"]}"' in text
    assert not page.cookies
    assert page["Referrer-Policy"] == "no-referrer"
    assert "no-store" in page["Cache-Control"]
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "<script" not in text


def test_one_that_has_ended_says_how(acme: ApiClient, client: Client, bank: BankTransport) -> None:
    paid, expired = opened(acme), opened(acme, locale="tr")
    acme.post(f"/v1/payment_intents/{paid['payment_intent']}/confirm", confirmation())
    acme.post(f"{SESSIONS}/{expired['id']}/expire")

    pages = [client.get(path_of(one["url"])) for one in (paid, expired)]

    assert [page.status_code for page in pages] == [200, 410]
    assert "Payment complete" in pages[0].content.decode()
    assert "ayse@example.com" not in pages[0].content.decode()
    assert "Bu ödeme sayfasının süresi doldu" in pages[1].content.decode()


def test_a_wrong_secret_is_refused_before_the_database_is_asked(
    acme: ApiClient, client: Client, bank: BankTransport
) -> None:
    path, other = path_of(opened(acme)["url"]), path_of(opened(acme)["url"])
    session, mac = path.removeprefix("/pay/").split(".")
    three_ds = acme.post(
        "/v1/payment_intents",
        payment(
            return_url="https://acme.example/back",
            payment_method_options={"card": {"three_d_secure": "required"}},
        ),
    )["next_action"]["redirect_to_url"]["url"].rpartition(".")[2]
    wrong = [
        session, f"{session}.", f"{session}.{mac[:-1]}", f"{session}.{mac}{mac}",
        f"{session}.{mac[:-1]}{'0' if mac[-1] != '0' else '1'}", f"{session}.{mac.upper()}",
        f"{session}.{other.rpartition('.')[2]}", f"{session}.{three_ds}", f"x.{mac}",
        f"{session}%00.{mac}", f"{quote(session)}.{quote('ş' * 64)}",
    ]  # fmt: skip

    with CaptureQueriesContext(connection) as taken:
        statuses = {token: client.get(f"/pay/{token}").status_code for token in wrong}

    assert set(statuses.values()) == {404}, statuses
    assert [one["sql"] for one in taken if "checkout" in one["sql"]] == []
    assert client.get(path).status_code == 203


@pytest.mark.proof(part="fuzz")
def test_looks_change_nothing(acme: ApiClient, client: Client) -> None:
    path = path_of(opened(acme)["url"])
    before = row_counts()

    statuses = [client.get(path).status_code for _ in range(LOOKS)]
    statuses += [client.head(path).status_code]

    assert set(statuses) == {203}
    tried(LOOKS, "looks at a page")
    assert row_counts() == before
    assert [getattr(client, method)(path).status_code for method in ("put", "options")] == [405] * 2
    assert client.post(f"{path}/card").status_code == client.post(f"{path}/back").status_code == 405


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u202eevil\u2066", "W" * 1000])
def test_a_description_and_a_lines_name_are_shown_as_text(
    acme: ApiClient, client: Client, text: str
) -> None:
    lines = {"amount": None, "line_items": [line(5, name=text[:500])]}
    made = opened(acme, payment_intent_data={"description": text}, **lines)

    page = client.get(path_of(made["url"]))

    shown = page.content.decode()
    assert page.status_code == 203
    assert "<script" not in shown
    assert shown.count(escape(text[:500])) >= 2


def test_a_shops_name_is_shown_as_text(acme: ApiClient, client: Client) -> None:
    Merchant.objects.filter(id=acme.merchant.id).update(name="<script>alert(1)</script>")

    text = client.get(path_of(opened(acme)["url"])).content.decode()

    assert "<script>" not in text
    assert "&lt;script&gt;" in text
