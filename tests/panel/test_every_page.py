"""Every page of the panel, from its table of addresses: ids of others, odd queries, hostile texts.

Pages with a fault are planted, and each is found by the test that is there for it.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.http import QueryDict
from django.test import Client

from core import ids
from panel import kept_figures
from panel.merchants import urls
from panel.permissions import PAGES
from tests.stage import page_faults, panel_pages, planted_urls
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.hostile import HOSTILE, make_hostile
from tests.stage.lengths import IS_FULL, tried
from tests.stage.panel_pages import THINGS, address, addresses
from tests.stage.redis_places import redis_at
from tests.stage.teams import join, person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

MALFORMED = ["x", "x'\"<b>", "%00", "%FF%FE", "..%2F..", "-1", "9" * 30, "pi_" + "x" * 8000]


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture(autouse=True)
def old_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two answers are compared: figures that are worked out once a minute change between none."""
    monkeypatch.setattr(kept_figures, "OLDEST", timedelta(days=1))


@pytest.fixture
def wrong(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pages with a fault are among the others."""
    settings.ROOT_URLCONF = "tests.stage.planted_urls"
    monkeypatch.setattr(urls, "urlpatterns", [*urls.urlpatterns, *planted_urls.WRONG])
    with patch.dict(PAGES, planted_urls.ROWS), patch.dict(THINGS, forgetful=THINGS["key"]):
        yield


# --- Ids --------------------------------------------------------------------------------------


def unlike(client: Client, acme: ApiClient, globex: ApiClient, name: str) -> list[str]:
    """Return which ids at the place of the page's own are not answered as an unknown one is."""
    theirs = str(THINGS[name](globex.merchant))
    unknown = ids.new(theirs.partition("_")[0]) if "_" in theirs else "987654321"

    def answered(thing: str, method: str, page: str = name) -> tuple[int, str]:
        url = address(page, acme.merchant.id, thing)
        answer = client.get(url) if method == "GET" else client.post(url, {"token": "t"})
        text = answer.content.decode().replace(answer["Request-Id"], "")
        return answer.status_code, _ONCE.sub("", text)

    methods = ["GET", *(["POST"] if PAGES[name].do else [])]
    expected = {method: answered(unknown, method) for method in methods}
    assert {status for status, _text in expected.values()} == {404}
    # A text that is no id, such as one with a slash, may also be no address at all.
    nowhere = answered("x", "GET", "customer")
    tried = [(one, method) for one in [theirs, *MALFORMED] for method in methods]
    found = {(one, method): answered(one, method) for one, method in tried}
    return [
        f"{method} {one[:30]}"
        for (one, method), answer in found.items()
        if answer != expected[method] and (one == theirs or answer != nowhere)
    ]


@pytest.mark.dear("asks for each page that has an id")
@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("name", THINGS)
def test_an_id_that_is_not_mine_is_as_unknown_as_any(
    acme: ApiClient, globex: ApiClient, owner: Client, bank: BankTransport, name: str
) -> None:
    assert unlike(owner, acme, globex, name) == []


@pytest.mark.usefixtures("wrong")
def test_a_page_that_forgets_its_merchant_is_found(
    acme: ApiClient, globex: ApiClient, owner: Client
) -> None:
    [found] = unlike(owner, acme, globex, "forgetful")

    assert found == f"GET {globex.merchant.api_keys.get().pk}"


# They are asked for by their address alone, and so they read no query.
OF_FORMS = {name for name, rights in PAGES.items() if rights.do} - {
    "websites", "resend_event", *(name for name in PAGES if name.startswith("export_")),
}  # fmt: skip
# Names of parameters in which a page takes an id, or a cursor.
TAKING_IDS = (
    "starting_after", "ending_before", "delivery", "request_id", "object_id", "aggregate_id",
    "api_key", "payment_intent", "customer", "webhook_endpoint", "q",
)  # fmt: skip


def unlike_in_a_query(
    client: Client, acme: ApiClient, globex: ApiClient, parameter: str
) -> tuple[list[str], int]:
    """Return the pages on which another merchant's id is not what an unknown one is, and a count.

    At the short length those are asked that look the parameter up, at the full one all of them.
    """
    paid = globex.pay().body
    pages = {name: url for name, url in addresses(acme.merchant).items() if name not in OF_FORMS}
    theirs = {"delivery": THINGS["delivery"], "request_id": THINGS["request_log"],
              "api_key": THINGS["key"], "webhook_endpoint": THINGS["endpoint"],
              "customer": THINGS["customer"]}  # fmt: skip
    foreign = theirs[parameter](globex.merchant) if parameter in theirs else paid["id"]
    unknown = ids.new(foreign.partition("_")[0])

    def answered(url: str, thing: str) -> tuple[int, str]:
        answer = client.get(url, {parameter: thing}, follow=True)
        text = answer.content.decode().replace(thing, "").replace(answer["Request-Id"], "")
        return answer.status_code, _ONCE.sub("", text)

    def is_like(url: str) -> bool:
        shown = answered(url, foreign)
        return shown == answered(url, unknown) and globex.merchant.id not in shown[1]

    asked = {
        name: url
        for name, url in pages.items()
        if IS_FULL or parameter in looked_up(client, name, url)
    }
    return [name for name, url in asked.items() if not is_like(url)], len(asked)


# By a page's name, what it looks up in its query.
_looked_up: dict[str, set[str]] = {}


def looked_up(client: Client, name: str, url: str) -> set[str]:
    """Return what a page looks up in its query, where it has nothing or all of `TAKING_IDS`."""
    if name not in _looked_up:
        with names_noted() as noted:
            for query in ({}, dict.fromkeys(TAKING_IDS, "x")):
                client.get(url, query, follow=True)
        _looked_up[name] = noted
    return _looked_up[name]


@contextmanager
def names_noted() -> Iterator[set[str]]:
    """Note each name that is looked up in a query, in whatever way."""
    noted: set[str] = set()

    def noting(real: Any) -> Any:
        def look_up(query: QueryDict, name: Any, *default: Any) -> Any:
            noted.add(name)
            return real(query, name, *default)

        return look_up

    with ExitStack() as patches:
        for way in ("__getitem__", "__contains__", "get", "getlist"):
            patches.enter_context(patch.object(QueryDict, way, noting(getattr(QueryDict, way))))
        yield noted


@pytest.mark.proof(part="walks")
def test_another_merchants_id_in_a_query_reads_as_an_unknown_one(
    acme: ApiClient, globex: ApiClient, owner: Client, bank: BankTransport
) -> None:
    for parameter in TAKING_IDS:
        unlike, count = unlike_in_a_query(owner, acme, globex, parameter)

        assert unlike == [], parameter
        tried(count, f"pages with {parameter}")


@pytest.mark.slow
@pytest.mark.usefixtures("wrong")
def test_a_page_that_takes_any_merchants_id_in_its_query_is_found(
    acme: ApiClient, globex: ApiClient, owner: Client, bank: BankTransport
) -> None:
    unlike, _count = unlike_in_a_query(owner, acme, globex, "api_key")

    assert unlike == ["curious"]


# A form's tokens, moments within a minute, and the seconds of a day ago in links.
_ONCE = re.compile(
    r'(csrfmiddlewaretoken|token)" value="[\w-]+"|\d\d:\d\d(:\d\d)?|value="mer_\w+"'
    r"|created%5B\w+%5D=\d+"
)


# --- Queries ----------------------------------------------------------------------------------

QUERIES = {
    "limit": "limit=1000000000&limit[]=x",
    "cursors": "starting_after=pi_x&ending_before=pi_y",
    "nul": "q=%00&type=%00&status=%00&object_id=a%00b&created[gte]=%00",
    "not utf-8": "q=%FF%FE&starting_after=%C3%28&created_from=%FF&url=%FF",
    "8 KB": f"q={'x' * 8000}&path={'y' * 4000}",
    "8 KB of names": "&".join(f"metadata[k{n}]=v" for n in range(500)),
    "twice": "q=a&q=b&status=4xx&status=5xx&created_from=2026-01-01&created_from=x",
    "odd numbers": "created[gte]=-1&amount[gte]=1e9&amount_from=NaN&created_from=0000-00-00",
}


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_an_odd_query_is_answered_by_a_page(
    acme: ApiClient, owner: Client, bank: BankTransport, query: str
) -> None:
    for name, url in addresses(acme.merchant).items():
        answer = owner.generic("GET", url, QUERY_STRING=QUERIES[query])

        assert answer.status_code in (200, 302, 400, 404), (name, answer.status_code)
        assert (
            answer.status_code == 302
            or "</html>" in answer.content.decode()
            or (name in panel_pages.PARTS)
        ), name


# --- Texts ------------------------------------------------------------------------------------


def texts_that_run(client: Client, pages: dict[str, str]) -> list[str]:
    """Return the pages on which a hostile text is more than a text."""
    shown = {name: client.get(url).content.decode() for name, url in pages.items()}
    return [name for name, text in shown.items() if any(one in text for one in HOSTILE)]


@pytest.mark.slow
def test_stored_texts_are_texts_on_every_page(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    join(user, globex.merchant, "support")
    pages = addresses(acme.merchant)
    changed = make_hostile()
    client = signed_in(user)

    assert texts_that_run(client, pages) == []

    # They are there, and were only escaped.
    texts = " ".join(client.get(url).content.decode() for url in pages.values())
    assert texts.count("&lt;script&gt;alert") > 20
    assert changed > 20
    for url in ("/account/sessions", "/account/activity", "/account/security"):
        assert texts_that_run(client, {url: url}) == []


@pytest.mark.usefixtures("wrong")
def test_a_text_that_is_written_as_it_is_is_found(acme: ApiClient, owner: Client) -> None:
    pages = {"open_text": address("open_text", acme.merchant.id)}
    make_hostile()

    assert texts_that_run(owner, pages) == ["open_text"]


# --- The page itself --------------------------------------------------------------------------


@pytest.mark.slow
def test_each_form_has_its_token_and_nothing_is_inline(
    acme: ApiClient, owner: Client, bank: BankTransport
) -> None:
    for name, url in addresses(acme.merchant).items():
        assert page_faults.of(owner.get(url).content.decode()) == [], name


@pytest.mark.usefixtures("wrong")
@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("unguarded", ["a form without its CSRF token"]),
        ("styled", ["inline <style>", "style on <p>", "onclick on <p>"]),
    ],
)
def test_a_form_without_its_token_and_an_inline_style_are_found(
    acme: ApiClient, owner: Client, name: str, faults: list[str]
) -> None:
    page = owner.get(address(name, acme.merchant.id)).content.decode()

    assert page_faults.of(page) == faults


def without_guard(client: Client, acme: ApiClient) -> list[str]:
    """Return the pages that take a form of which the CSRF token is missing."""
    client.handler.enforce_csrf_checks = True
    asked = {name: address(name, acme.merchant.id) for name, row in PAGES.items() if row.do}
    return [name for name, url in asked.items() if client.post(url).status_code != 403]


def test_no_page_takes_a_form_without_its_csrf_token(acme: ApiClient, owner: Client) -> None:
    assert without_guard(owner, acme) == []


@pytest.mark.usefixtures("wrong")
def test_a_page_that_takes_any_form_is_found(acme: ApiClient, owner: Client) -> None:
    assert without_guard(owner, acme) == ["unguarded"]


@pytest.mark.slow
def test_every_page_opens_while_redis_is_away(
    acme: ApiClient, owner: Client, bank: BankTransport
) -> None:
    pages = addresses(acme.merchant)

    with redis_at("redis://127.0.0.1:1/0"):
        answers = {name: owner.get(url).status_code for name, url in pages.items()}

    assert {name: status for name, status in answers.items() if status != 200} == {}
