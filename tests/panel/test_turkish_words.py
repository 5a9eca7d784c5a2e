"""Every word that a page shows in Turkish is of the catalogue, or is no word of ours.

Parts that are the same in every language are left out: code, ids, what people typed (`bdi`), and
quotes that say their own language.
"""

import gettext
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import allauth
import django
import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation

from devstack.state import ROOT
from merchants import accounts
from merchants.models import InstallmentPlan, RiskRule
from panel import statuses
from panel.merchants import figures
from panel.permissions import PAGES
from panel.statuses import Badge
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, EndpointFactory, RequestLogFactory, three_d_secure
from tests.stage.panel_pages import addresses
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CATALOGUES = (
    ROOT / "locale", Path(django.__file__).parent / "conf" / "locale",
    *(Path(django.__file__).parent / "contrib" / name / "locale" for name in ("auth", "humanize")),
    Path(allauth.__file__).parent / "locale",
)  # fmt: skip
MAILS = ROOT / "templates" / "panel"
# Of every language, or of nobody's: code and data stand in elements that say so.
SILENT = {"script", "style", "code", "pre", "kbd", "bdi", "time", "title-of-json"}
VOID = {"input", "img", "br", "hr", "meta", "link", "line", "rect", "path", "circle", "use"}
SPOKEN = ("aria-label", "placeholder", "title", "alt")
WORD = re.compile(r"[^\W\d_]{2,}")
# Names, units, and codes of currencies, countries and zones.
NAMES = """Acme Store Globex Visa Mastercard Troy English Türkçe Secure ECI TRY EUR USD GBP TR US
    UTC Europe Istanbul API JSON CSV HTTP URL ID POST GET DELETE Python Node PHP Java
    localhost ms"""
# Texts of rows: of the cast, and of the sandbox's accounts for payouts.
DATA = """First key Chargebacks Ayşe bonus main Acme Ltd account_holder
    test_closed test_process test_restricted"""
# Kinds of objects as the API names them, in the filter of events.
KINDS = "balance customer dispute merchant payout refund topup"
# Addresses, ids, what has a digit or an underscore in it, and names of event types.
ADDRESS = re.compile(r"\S+@\S+|https?://\S+|…\w+|\w*[\d_]\w*(?:\.\w+)*|\b[a-z]+(?:\.[a-z]+)+\b")


class Shown(HTMLParser):
    """Collects the words that a page shows or says."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if self._silent or tag in SILENT or values.get("lang") == "en":
            self._silent += [] if tag in VOID else [tag]
            return
        self.texts += [values[name] or "" for name in SPOKEN if name in values]
        if tag == "input" and values.get("type") == "submit":
            self.texts.append(values.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        if self._silent and tag not in VOID:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.texts.append(data)


def words(text: str) -> set[str]:
    return {one.translate(SMALL).lower() for one in WORD.findall(ADDRESS.sub(" ", text))}


# As Turkish writes them small.
SMALL = str.maketrans({"I": "ı", "İ": "i"})


@cache
def known() -> frozenset[str]:
    """Return the words of all Turkish texts, ours and those of Django and allauth."""
    found: set[str] = set()
    for place in CATALOGUES:
        file = place / "tr" / "LC_MESSAGES" / "django.mo"
        if file.exists():
            with file.open("rb") as source:
                texts = gettext.GNUTranslations(source)._catalog.values()  # type: ignore[attr-defined]
            found |= {word for text in texts for word in words(re.sub(r"%\(\w+\)[sd]", " ", text))}
    return frozenset(found | words(NAMES) | {*f"{DATA} {KINDS}".lower().split()})


def strange(html: str) -> set[str]:
    """Return the words of a page that no Turkish text has."""
    shown = Shown()
    shown.feed(html)
    return {word for text in shown.texts for word in words(text)} - known()


@pytest.fixture
def owner(acme: ApiClient, bank: Any) -> Client:
    """The owner of a merchant who has some of everything; reads Turkish."""
    figures.forget()
    user = person("ada@acme.example", (acme.merchant, "owner"))
    acme.pay()
    acme.pay(DECLINED_CARD)
    acme.pay(capture_method="manual")
    merchant = accounts.change(acme.merchant, {"silenced_notices": ["case_closed"]})
    merchant.negative_limits.create(currency="try", amount=500000)
    InstallmentPlan.objects.create(
        merchant=merchant, program="bonus", installments=3, surcharge_rate_bps=250
    )
    RiskRule.objects.create(
        merchant=merchant, rule="amount", currency="try", deed="review", threshold=990000
    )
    EndpointFactory(merchant=merchant, status="failing", url="https://acme.example/dead")
    RequestLogFactory(merchant=merchant, status=400)
    client = signed_in(user)
    client.cookies["language"] = "tr"
    return client


def test_every_page_speaks_turkish(owner: Client, acme: ApiClient) -> None:
    wrong = {}
    for name, url in addresses(acme.merchant).items():
        page = owner.get(url)
        assert page.status_code == 200, name
        if found := strange(page.content.decode()):
            wrong[name] = found

    assert not wrong, told(wrong)


def test_refusals_of_forms_speak_turkish(owner: Client, acme: ApiClient) -> None:
    wrong = {}
    for name, url in addresses(acme.merchant).items():
        rights = PAGES[name]
        if rights.do is None or name.startswith("export"):
            continue
        answer = owner.post(url, {"token": "t", "amount": "x", "url": "x", "email": "x"})
        if answer.status_code == 400 and (found := strange(answer.content.decode())):
            wrong[name] = found

    assert not wrong, told(wrong)


OWN = (
    "login", "password/reset", "password/reset/sent", "security", "sessions", "activity",
    "password", "authenticator", "passkeys", "passkeys/add", "logout", "reauthenticate",
)  # fmt: skip


@pytest.mark.parametrize("path", OWN)
def test_pages_of_ones_own_account_speak_turkish(owner: Client, path: str) -> None:
    page = owner.get(f"/account/{path}")
    if page.status_code == 302:  # Only for those who are not signed in.
        reader = Client(headers={"Accept": "text/html", "Accept-Language": "tr"})
        page = reader.get(f"/account/{path}")

    assert page.status_code == 200
    assert strange(page.content.decode()) == set()


def test_allauths_fields_have_the_panels_words(owner: Client) -> None:
    # "name" is in some Turkish text too, as the name of a field.
    assert ">Ad<" in re.sub(r"\s", "", owner.get("/account/passkeys/add").content.decode())
    change = owner.get("/account/password").content.decode()
    assert "Şimdiki parola" in change
    assert "ifre" not in change


@pytest.mark.parametrize("status", [400, 403, 404, 409, 429, 500, 503])
def test_errors_speak_turkish(status: int) -> None:
    with translation.override("tr"):
        text = render_to_string(f"errors/{status}.html", {"request_id": "req_1"})

    assert strange(text) == set()


def test_the_payers_page_speaks_turkish(acme: ApiClient, bank: Any) -> None:
    made = acme.pay(return_url="https://acme.example/back", **three_d_secure("required"))
    link = made["next_action"]["redirect_to_url"]["url"]
    payer = Client(headers={"Accept": "text/html", "Accept-Language": "tr"})

    page = payer.get(urlsplit(link).path)

    assert page.status_code == 200
    assert "₺125,00" in page.content.decode()
    assert strange(page.content.decode()) == set()


@pytest.mark.parametrize("file", sorted(MAILS.glob("*/*.txt")), ids=lambda file: file.stem)
def test_mails_speak_turkish(file: Path) -> None:
    with translation.override("tr"):
        text = render_to_string(f"panel/mails/{file.name}", {})

    assert strange(text) == set()


# --- The walk finds what it is there for ------------------------------------------------------


def test_a_word_that_nobody_translated_is_found(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(statuses.BADGES, "succeeded", Badge("✓", "Thoroughly finished", "green"))

    page = owner.get(f"/panel/{acme.merchant.id}/payments").content.decode()

    assert strange(page) == {"thoroughly", "finished"}


@pytest.mark.parametrize(
    "html",
    [
        "<p>Planted</p>", '<b aria-label="Planted">✕</b>', '<input placeholder="Planted">',
        '<img alt="Planted"><p>Ödeme</p>', "<option>Planted</option>",
        '<input type="submit" value="Planted">', "<code>x</code>Planted",
    ],
)  # fmt: skip
def test_a_planted_word_is_found_wherever_it_stands(html: str) -> None:
    assert strange(html) == {"planted"}


@pytest.mark.parametrize("html", ["<code>Planted</code>", "<q lang=en><b>Planted</b></q>", "Ödeme"])
def test_what_is_the_same_in_every_language_is_left_out(html: str) -> None:
    assert strange(html) == set()


def told(wrong: dict[str, set[str]]) -> str:
    return "\n".join(f"{name}: {sorted(found)}" for name, found in wrong.items())
