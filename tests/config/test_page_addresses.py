"""Odd addresses of the admin and of every other page are answered in words, never by a 500."""

import re
from collections.abc import Iterable
from itertools import islice, product
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib import admin
from django.db import connections, transaction
from django.test import Client

from merchants.models import User
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import payment
from tests.stage.hooks import created
from tests.stage.lengths import length, tried

pytestmark = [
    pytest.mark.proof(part="fuzz"),
    # Three thousand pages of the admin: minutes on a busy machine.
    pytest.mark.timeout(600),
    # As in production no transaction lies around a request: a filter that the database refuses
    # would end it, and then a session's use, noted once a minute, could not be.
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

NULS = {"NUL": "%00", "NUL within": "pi_%00x", "NUL and no UTF-8": "%ff%00"}
ODD = {
    **NULS,
    "NUL twice encoded": "%2500",
    "the admin's own NUL": "_00",
    "no UTF-8": "%ff%fe",
    "half a surrogate": "%ed%a0%80",
    "a NUL of two bytes": "%c0%80",
    "long": "a" * 5000,
    "huge": "9" * 400,
    "past 64 bits": str(2**63),
    "past 32 bits": str(2**31),
    "the last year": "9999",
    "the last year, padded": "0000009999",
    "the last second": "9999-12-31T23:59:59-23:59",
    "a zone too far": "2026-01-01T00:00:00%2b23:59",
    "no day": "2026-13-45",
    "negative": "-1",
    "no number": "x",
    "nothing": "",
    "another script": "%d9%a4",
    "superscript": "%c2%b2",
    "infinite": "1e999",
    "quotes": "%27%22%3B--",
    "an open bracket": "[",
    "percent": "%",
    "steps up": "..%2f..%2f",
    "lines": "%0d%0ax:1",
    "braces": "{%7d%25s%(x)s",
    "commas": "1,,2",
    "columns": "1.2.-3.x",
}  # fmt: skip
LIST_NAMES = [
    "q", "o", "p", "e", "all", "_popup", "_to_field", "_changelist_filters", "pk", "pk__in",
    "pk__isnull", "pk__regex", "pk__gte", "created_at__gte", "created_at__year",
    "created_at__month", "created_at__iso_year", "created_at__date", "status", "status__exact",
    "merchant__id__exact",
]  # fmt: skip
PLACES = [
    "/admin/{}", "/admin/{}/", "/admin/r/{}/{}/", "/admin/r/1/{}/", "/admin/auth/{}/",
    "/account/login?next={}", "/account/login?{}={}", "/admin/login/?next={}",
    "/account/logout?next={}", "/account/password/reset/{}", "/account/password/reset/1-{}",
    "/account/passkeys/{}/remove", "/account/reauthenticate?next={}", "/admin/jsi18n/?{}",
    "/admin/autocomplete/?app_label={}&model_name={}&field_name={}&term={}",
    "/admin/autocomplete/?app_label=merchants&model_name=apikey&field_name=merchant&term={}&p={}",
    "/admin/merchants/user/{}/password/", "/admin/password_change/{}", "/docs/errors?{}={}",
    "/docs/{}", "/3ds/{}", "/3ds/att_x.{}", "/3ds/x.y/return?{}={}", "/{}", "/?{}={}", "/static/{}",
    "/healthz?{}={}", "/v10/{}",
]  # fmt: skip


# The gate plays every seventh pair of a place and an odd value: each of both is in some.
# The lists' links are a column's or a filter's: it follows so many of each list.
STEP, LINKS = length(short=7, full=1), length(short=2, full=1000)


@pytest.fixture
def operator(acme: ApiClient, bank: BankTransport, client: Client) -> Client:
    acme.post("/v1/payment_intents", payment(), idempotency_key="k")
    created(acme)
    User.objects.create_superuser("operator@example.com", "a long enough password")
    assert client.login(email="operator@example.com", password="a long enough password")
    client.raise_request_exception = False
    _let_transactions_idle()
    return client


def _let_transactions_idle() -> None:
    # The test's own transactions wait while it looks at other pages: one of the bank's for minutes.
    for alias in ("default", "bank"):
        with connections[alias].cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")


def status_of(operator: Client, path: str) -> int:
    """Ask, and undo it: a statement that failed would fail all the next ones of the test."""
    with transaction.atomic("default"), transaction.atomic("bank"):
        status = operator.get(path).status_code
        for alias in ("default", "bank"):
            transaction.set_rollback(True, using=alias)
    return status


def lists() -> list[str]:
    models = [model._meta for model in admin.site._registry]
    return [f"/admin/{model.app_label}/{model.model_name}/" for model in models]


def dealt(*axes: Iterable[str]) -> Iterable[tuple[str, ...]]:
    return islice(product(*axes), 0, None, STEP)


def assert_answered(operator: Client, addresses: dict[str, str], least: int) -> None:
    statuses = {path: status_of(operator, path) for path in addresses}

    crashed = {path[:120]: addresses[path] for path in statuses if statuses[path] >= 500}
    assert crashed == {}
    nuls = {path[:120]: statuses[path] for path in statuses if addresses[path] in NULS}
    assert {path: status for path, status in nuls.items() if status != 404} == {}
    assert len(statuses) >= least / STEP
    assert len(nuls) > least / STEP / 20
    print(f"{len(nuls)} with a NUL")  # noqa: T201
    tried(len(statuses), "odd addresses")


def test_no_odd_id_in_the_admin_is_a_crash(operator: Client) -> None:
    pages = ["change/", "", "delete/", "history/"]
    # Each of them on one page of every table: the next one on the next.
    turns = enumerate(dealt(lists(), ODD))

    addresses = {
        f"{base}{ODD[how] or '-'}/{pages[place % len(pages)]}": how for place, (base, how) in turns
    }

    assert_answered(operator, addresses, 400)


def test_no_odd_filter_of_a_list_is_a_crash(operator: Client) -> None:
    bases = lists()
    # Each of them at one list: the next one gets the next.
    turns = enumerate(dealt(LIST_NAMES, ODD))
    addresses = {
        f"{bases[place % len(bases)]}?{name}={ODD[how]}": how for place, (name, how) in turns
    }

    assert_answered(operator, addresses, 500)


def test_the_links_of_every_list_lead_on(operator: Client) -> None:
    leading = {base: links_of(operator.get(base).content.decode()) for base in lists()}
    asked = [base + link for base, links in leading.items() for link in spread(links)]

    statuses = {address: operator.get(address).status_code for address in asked}

    assert {address: status for address, status in statuses.items() if status != 200} == {}
    assert len(statuses) > 60
    tried(len(statuses), "links of lists")


def spread(links: list[str]) -> list[str]:
    """Return some of a list's links, from its first to its last."""
    return links[:: max(1, len(links) // LINKS)]


def links_of(page: str) -> list[str]:
    """Return what the list's own links say: filters, columns to sort by, a date's parts."""
    return [link.replace("&amp;", "&") for link in re.findall(r'href="(\?[^"]+)"', page)]


def test_no_odd_filter_of_a_list_by_date_is_a_crash(operator: Client) -> None:
    dated = "/admin/testbank/authorization/?created_at__"
    units = [
        "year={}",
        "year=2026&created_at__month={}",
        "year=2026&created_at__month=2&created_at__day={}",
    ]

    addresses = {dated + unit.format(ODD[how]): how for unit, how in dealt(units, ODD)}

    assert_answered(operator, addresses, 80)


def test_no_other_odd_page_is_a_crash(operator: Client) -> None:
    pages = [f"{base}{{}}" for base in ("/admin/merchants/merchant/", "/admin/merchants/user/")]
    some = f"/admin/merchants/user/{User.objects.first().pk}/"
    names = ("_changelist_filters", "_to_field", "_popup")
    pages += [f"{some}{page}?{name}={{}}" for page in ("change/", "delete/") for name in names]

    addresses = {place.replace("{}", ODD[how]): how for place, how in dealt([*PLACES, *pages], ODD)}

    assert_answered(operator, addresses, 700)


@pytest.mark.parametrize("how", [*ODD][::STEP])
def test_no_odd_choice_in_a_list_is_a_crash(operator: Client, how: str) -> None:
    for action in ("delete_selected", unquote(ODD[how])):
        form: dict[str, Any] = {
            "action": action,
            "_selected_action": unquote(ODD[how]),
            "index": "0",
        }
        answer = operator.post("/admin/merchants/user/", form)
        assert answer.status_code < 500
