"""Forty changes of one merchant's keys and sites at once: all are made, the chain has no gap."""

from collections.abc import Callable
from typing import Any

import pytest

from merchants import accounts, audit_chains, keys, sites
from merchants.models import ApiKey, AuditEntry, AuditHead, Merchant
from tests.stage.client import ApiClient
from tests.stage.hooks import created
from tests.stage.threads import team

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)

AT_ONCE = 40


def contestants(acme: ApiClient) -> list[Callable[[], Any]]:
    """Return forty changes: of keys, websites, callbacks, names and an endpoint by the API."""
    merchant = acme.merchant
    endpoint = created(acme)["id"]
    old = [keys.create(merchant, name=f"old {number}")[0] for number in range(AT_ONCE // 8)]

    def eight(number: int) -> list[Callable[[], Any]]:
        def update() -> None:
            body = {"description": f"{number}"}
            answer = acme.twin().post(f"/v1/webhook_endpoints/{endpoint}", body)
            assert answer.status == 200, answer.body

        return [
            lambda: keys.create(merchant, name=f"new {number}"),
            lambda: keys.revoke(ApiKey.objects.get(id=old[number].id)),
            lambda: accounts.change(merchant, {"add_website": f"w{number}.example"}, "x"),
            lambda: accounts.change(merchant, {"name": f"Acme {number}"}, "x"),
            lambda: sites.register_callback(merchant, f"https://c.example/{number}"),
            lambda: sites.register_website(merchant, f"v{number}.example"),
            lambda: accounts.change(merchant, {"add_callback": f"https://d.example/{number}"}),
            update,
        ]

    return [one for number in range(AT_ONCE // 8) for one in eight(number)]


def test_forty_changes_at_once_make_one_unbroken_chain(acme: ApiClient) -> None:
    changes = contestants(acme)
    before = AuditHead.objects.get(chain=f"merchant:{acme.merchant.id}").sequence

    with team(AT_ONCE) as meet:
        meet(changes)  # An error of one is raised here.

    entries = AuditEntry.objects.for_merchant(acme.merchant)
    sequences = list(entries.order_by("sequence").values_list("sequence", flat=True))
    assert sequences == list(range(1, before + AT_ONCE + 1))
    problems: list[Any] = []
    audit_chains.verify(tell=problems.append)
    assert problems == []
    told = acme.events_of(acme.merchant.id)
    assert [event["sequence"] for event in told] == list(
        range(1, 16)
    )  # Three of eight, five times.
    assert Merchant.objects.get(id=acme.merchant.id).websites.count() == 11
