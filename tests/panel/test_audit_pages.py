"""The audit log in the panel: the merchant's own chain, filtered, with before and after."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from core import context
from core.context import ActorKind
from merchants import accounts, audit_log, keys
from merchants.models import AuditEntry
from panel.audit_words import WORDS
from tests.stage.client import ApiClient
from tests.stage.teams import join, person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(acme: ApiClient, *parts: str) -> str:
    return "/".join([f"/panel/{acme.merchant.id}/audit_log", *parts])


def write(acme: ApiClient, action: str, kind: ActorKind, name: str, subject: str = "x") -> str:
    """Write a row by somebody; return its id."""
    with context.work():
        context.act_as(kind, "7", name)
        context.current().address = "203.0.113.7"
        row = audit_log.record(
            action, merchant=acme.merchant, subject=subject, before={"name": "<b>old</b>"},
            after={"name": "new", "list": [1, 2]}, reason="secret words",
        )  # fmt: skip
    return row.id


def ids(page: Any) -> list[str]:
    return [row.entry.id for row in page.context["rows"]]


def test_every_action_has_its_words() -> None:
    assert {*WORDS} == {*audit_log.ACTIONS}


def test_rows_are_the_merchants_own_the_newest_first(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    write(globex, "key.created", ActorKind.USER, "eve@globex.example")
    first = write(acme, "key.created", ActorKind.USER, "ada@acme.example")
    second = write(acme, "key.revoked", ActorKind.API_KEY, "First key")

    page = owner.get(at(acme))

    assert ids(page)[:2] == [second, first]
    chain = AuditEntry.objects.filter(chain=f"merchant:{acme.merchant.id}")
    assert {*ids(page)} == {*chain.values_list("id", flat=True)}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"action": "endpoint.created"}, [0]), ({"person": "ADA@acme.example"}, [0]),
        ({"person": "First key"}, [1]), ({"object": "key_1"}, [1]), ({"object": "key_9"}, []),
        ({"person": "root@house.example"}, []), ({"object": " key_1 "}, [1]),
        ({"action": "endpoint.created", "person": "First key"}, []),
        ({"created[gte]": "1", "action": "limit.changed"}, [2]),
        ({"created[lt]": "1"}, []),
    ],
)  # fmt: skip
def test_filters_narrow_and_operators_are_not_told_apart(
    owner: Client, acme: ApiClient, query: dict[str, str], found: list[int]
) -> None:
    rows = [
        write(acme, "endpoint.created", ActorKind.USER, "ada@acme.example"),
        write(acme, "key.rolled", ActorKind.API_KEY, "First key", "key_1"),
        write(acme, "limit.changed", ActorKind.OPERATOR, "root@house.example"),
    ]

    assert ids(owner.get(at(acme), query)) == [rows[number] for number in found]


def test_all_rows_of_a_request_are_found(owner: Client, acme: ApiClient) -> None:
    row = AuditEntry.objects.get(id=write(acme, "key.created", ActorKind.USER, "ada@acme.example"))

    assert ids(owner.get(at(acme), {"object": row.request_id})) == [row.id]


def test_a_day_is_whole_in_the_merchants_zone(owner: Client, acme: ApiClient) -> None:
    row = write(acme, "key.created", ActorKind.USER, "ada@acme.example")
    zone = ZoneInfo(acme.merchant.timezone)
    today = datetime.now(zone).date().isoformat()

    led = owner.get(at(acme), {"created_from": today, "created_to": today})

    assert led.status_code == 302
    assert "created%5Bgte%5D" in led.url
    assert row in ids(owner.get(led.url))


@pytest.mark.parametrize(
    "query",
    [
        {"action": "key.stolen"}, {"created[gte]": "x"}, {"created_from": "2026-13-01"},
        {"starting_after": "aud_x"}, {"starting_after": "a", "ending_before": "b"},
        {"person": "a" * 501}, {"object": "4242424242424242"},
    ],
)  # fmt: skip
def test_bad_filters_are_refused_in_words(
    owner: Client, acme: ApiClient, query: dict[str, str]
) -> None:
    page = owner.get(at(acme), query)

    assert page.status_code == 400
    assert "4242424242424242" not in page.content.decode()


def test_a_row_shows_before_and_after_and_nothing_of_operators(
    owner: Client, acme: ApiClient
) -> None:
    mine = write(acme, "key.created", ActorKind.USER, "ada@acme.example")
    theirs = write(acme, "limit.changed", ActorKind.OPERATOR, "root@house.example")

    shown = owner.get(at(acme, mine)).content.decode()
    hidden = owner.get(at(acme, theirs)).content.decode() + owner.get(at(acme)).content.decode()

    assert "&lt;b&gt;old&lt;/b&gt;" in shown
    assert "203.0.113.7" in shown
    assert "secret words" in shown
    assert "An operator of this installation" in hidden
    assert "root@house.example" not in hidden
    assert "secret words" not in hidden


def test_people_are_shown_by_their_address(owner: Client, acme: ApiClient) -> None:
    eve = join(person("eve@x.example"), acme.merchant, "support")
    row = write(acme, "member.role_changed", ActorKind.USER, "ada@acme.example", str(eve.user_id))

    assert "eve@x.example" in owner.get(at(acme, row)).content.decode()
    write(acme, "member.removed", ActorKind.USER, "ada@acme.example", "9" * 12)
    assert owner.get(at(acme)).status_code == 200


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("entry", ["foreign", "aud_x", "%00", "x"])
def test_a_row_of_another_chain_is_unknown(
    owner: Client, acme: ApiClient, globex: ApiClient, entry: str
) -> None:
    theirs = write(globex, "key.created", ActorKind.USER, "eve@globex.example")

    assert owner.get(at(acme, theirs if entry == "foreign" else entry)).status_code == 404


def test_pages_have_no_gap(owner: Client, acme: ApiClient) -> None:
    for number in range(30):
        accounts.change(acme.merchant, {"name": f"Acme {number}"}, "x")

    first = owner.get(at(acme))
    second = owner.get(at(acme), {"starting_after": ids(first)[-1]})

    everything = AuditEntry.objects.filter(chain=f"merchant:{acme.merchant.id}")
    newest = everything.order_by("-sequence").values_list("id", flat=True)
    assert ids(first) + ids(second) == list(newest[:50])


def test_many_people_cost_no_more_statements(
    owner: Client, acme: ApiClient, django_assert_max_num_queries: Any
) -> None:
    for number in range(25):
        eve = person(f"p{number}@x.example")
        write(acme, "member.added", ActorKind.USER, "ada@acme.example", str(eve.pk))
    keys.create(acme.merchant, name="x")
    owner.get(at(acme))  # The first look of a minute is noted.

    with django_assert_max_num_queries(15):
        owner.get(at(acme))
