"""Changes of an account: one door, one event if the API shows them, one row in the audit log."""

from typing import Any

import pytest
from django.db import IntegrityError
from django.test import override_settings

from acquirers.models import Terminal
from merchants import accounts, audit_chains, sites
from merchants.models import AuditEntry, Merchant
from merchants.refusals import ChangeRefused
from merchants.sites import SiteRefused
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, MerchantFactory
from tests.stage.tampering import tamper

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def change(client: ApiClient, reason: str = "asked", **changes: Any) -> Merchant:
    return accounts.change(client.merchant, changes, reason)


def rows(client: ApiClient) -> list[AuditEntry]:
    """Return the audit rows of the test's own changes."""
    entries = AuditEntry.objects.for_merchant(client.merchant)
    return list(entries.filter(reason="asked").order_by("sequence"))


def told(client: ApiClient) -> list[dict[str, Any]]:
    return client.events_of(client.merchant.id)


def test_opening_an_account_tells_nothing(acme: ApiClient) -> None:
    assert told(acme) == []


def test_a_change_is_told_with_what_it_was(acme: ApiClient) -> None:
    change(acme, name="Acme Ltd", mcc="5411")

    [event] = told(acme)
    assert (event["type"], event["sequence"]) == ("merchant.updated", 1)
    assert event["data"]["object"] == acme.get("/v1/merchant").body
    assert event["data"]["previous_attributes"] == {"name": "Acme Store", "mcc": None}
    [row] = rows(acme)
    assert (row.action, row.subject, row.reason) == ("merchant.updated", acme.merchant.id, "asked")
    assert row.before == {"name": "Acme Store", "mcc": ""}
    assert row.after == {"name": "Acme Ltd", "mcc": "5411"}


def test_events_of_changes_have_no_gap(acme: ApiClient) -> None:
    change(acme, status="restricted")
    change(acme, email="new@acme.example")  # The API does not show it.
    change(acme, status="active")

    assert [event["sequence"] for event in told(acme)] == [1, 2]
    assert [[*row.after] for row in rows(acme)] == [["status"], ["email"], ["status"]]


def test_no_change_is_nothing(acme: ApiClient) -> None:
    change(acme, name="Acme Store", add_website="https://acme.example")

    assert (told(acme), rows(acme)) == ([], [])


def test_a_restricted_merchant_is_refused_at_once(acme: ApiClient, bank: BankTransport) -> None:
    change(acme, status="restricted")

    assert acme.pay().refusal == (403, "merchant_restricted", None)


SWITCHES = ("charges_enabled", "payouts_enabled")


@pytest.mark.parametrize("status", ["restricted", "closed"])
def test_an_account_that_is_not_active_says_that_nothing_would_be_taken_or_paid_out(
    status: str, acme: ApiClient
) -> None:
    change(acme, status=status)

    shown = acme.get("/v1/merchant")
    assert [shown[name] for name in SWITCHES] == [False, False]
    [event] = told(acme)
    assert event["data"]["previous_attributes"] == {
        "status": "active", **dict.fromkeys(SWITCHES, True)
    }  # fmt: skip


def test_an_account_that_is_not_approved_yet_says_so(acme: ApiClient) -> None:
    # Past the guard: no account becomes pending again.
    tamper("UPDATE merchants_merchant SET status = 'pending'")

    shown = acme.get("/v1/merchant")
    assert [shown[name] for name in SWITCHES] == [False, False]


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_counts_again_when_the_account_is_active_again(
    switch: str, acme: ApiClient
) -> None:
    change(acme, status="restricted")
    change(acme, **{switch: False})  # The API shows no difference, so no event tells of it.
    change(acme, status="active")

    [_restricted, opened] = told(acme)
    [other] = set(SWITCHES) - {switch}
    assert (opened["data"]["object"][switch], opened["data"]["object"][other]) == (False, True)
    assert opened["data"]["previous_attributes"] == {"status": "restricted", other: False}


def test_charges_are_enabled_by_status_and_switch_and_by_no_acquirer(acme: ApiClient) -> None:
    Terminal.objects.all().delete()

    assert acme.get("/v1/merchant")["charges_enabled"] is True


def test_each_kind_of_change_has_a_row_of_its_own(acme: ApiClient) -> None:
    limit = {"per_payment": 1, "per_day": None}
    change(acme, name="A", non_secure_limits={"try": limit}, negative_limits={"try": 5})

    named, limited = rows(acme)
    assert (named.action, limited.action) == ("merchant.updated", "limit.changed")
    assert limited.after["non_secure_limits"] == [{"currency": "try", **limit}]
    assert limited.before["negative_limits"] == []
    assert len(told(acme)) == 1


def test_a_limit_of_one_currency_leaves_the_others(acme: ApiClient) -> None:
    before = acme.get("/v1/merchant")["non_secure_limits"]

    change(acme, non_secure_limits={"usd": None})

    shown = acme.get("/v1/merchant")["non_secure_limits"]
    assert shown == [row for row in before if row["currency"] != "usd"]


STATUSES = ("pending", "active", "restricted", "closed")
LISTED = {
    ("pending", "active"), ("pending", "closed"), ("active", "restricted"), ("active", "closed"),
    ("restricted", "active"), ("restricted", "closed"),
}  # fmt: skip


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("after", STATUSES)
@pytest.mark.parametrize("before", STATUSES)
def test_an_account_is_approved_once_and_closed_for_good(before: str, after: str) -> None:
    merchant = MerchantFactory(status=before)

    if before == after or (before, after) in LISTED:
        assert accounts.change(merchant, {"status": after}, "asked").status == after
    else:
        with pytest.raises(ChangeRefused, match=f"is {before} does not become {after}"):
            accounts.change(merchant, {"status": after}, "asked")
        assert Merchant.objects.get(id=merchant.id).status == before


def test_the_database_opens_no_closed_account() -> None:
    merchant = MerchantFactory(status="closed")

    with pytest.raises(IntegrityError, match="does not move from closed to active"):
        Merchant.objects.filter(id=merchant.id).update(status="active")


@pytest.mark.parametrize(
    "changes",
    [
        {"unheard_of": 1}, {"status": "asleep"}, {"name": ""}, {"name": "a" * 201},
        {"name": f"Card {GOOD_CARD}"}, {"timezone": "Mars/Olympus"}, {"mcc": "12"},
        {"mcc": "٤٤٤٤"}, {"email": "nobody"}, {"charges_enabled": "maybe"}, {"country": "tr"},
        {"country": "TUR"}, {"country": "ZZ"},
        {"default_currency": "xxx"}, {"negative_limits": {"try": -1}},
        {"negative_limits": {"xxx": 1}}, {"non_secure_limits": {"try": {"per_day": 10**12}}},
        {"non_secure_limits": {"try": {"per_day": True}}}, {"add_website": "http://a.example"},
        {"add_website": "co.uk"}, {"remove_website": "b.example"}, {"add_callback": "ftp://a"},
        {"remove_callback": "https://b.example/"},
    ],
    ids=str,
)  # fmt: skip
def test_a_refused_change_changes_nothing(acme: ApiClient, changes: dict[str, Any]) -> None:
    before = acme.get("/v1/merchant").body

    with pytest.raises(ChangeRefused, match=r"\.$"):
        change(acme, **{"legal_name": "Acme AG", **changes})

    assert acme.get("/v1/merchant").body == before
    assert (told(acme), rows(acme)) == ([], [])


@pytest.mark.parametrize("term", [{"country": "DE"}, {"default_currency": "eur"}], ids=str)
def test_country_and_currency_are_fixed_by_the_first_payment(
    acme: ApiClient, bank: BankTransport, term: dict[str, str]
) -> None:
    change(acme, **term)
    acme.pay()

    with pytest.raises(ChangeRefused, match="once there is a payment"):
        change(acme, country="FR", default_currency="gbp")
    change(acme, **term)  # As it is: no change.


# --- Addresses --------------------------------------------------------------------------------


def test_a_website_is_added_and_removed(acme: ApiClient) -> None:
    change(acme, add_website="https://New.example/x")
    change(acme, remove_website="new.example")

    added, removed = rows(acme)
    assert (added.action, added.subject) == ("website.added", "new.example")
    assert (added.before, added.after) == ({"websites": []}, {"websites": ["https://new.example"]})
    assert (removed.action, removed.subject) == ("website.removed", "new.example")
    assert removed.before == {"websites": ["https://new.example"]}
    assert len(told(acme)) == 2


def test_a_callback_is_added_and_removed(acme: ApiClient) -> None:
    change(acme, add_callback="http://localhost:3000/return")
    change(acme, remove_callback="http://localhost:3000/return")

    assert [row.action for row in rows(acme)] == ["callback.added", "callback.removed"]
    assert acme.get("/v1/merchant")["callback_urls"] == []


def test_a_merchant_has_fifty_of_each(acme: ApiClient) -> None:
    for number in range(sites.SITES_MAX - 1):  # It has one.
        sites.register_website(acme.merchant, f"w{number}.example")
    for number in range(sites.SITES_MAX):
        sites.register_callback(acme.merchant, f"https://c.example/{number}")

    with pytest.raises(SiteRefused, match="up to 50 websites"):
        change(acme, add_website="one-more.example")
    with pytest.raises(SiteRefused, match="up to 50 callback URLs"):
        change(acme, add_callback="https://c.example/more")
    change(acme, add_website="w3.example")  # It is registered.


def test_a_live_installation_takes_no_http_callback(acme: ApiClient) -> None:
    with override_settings(LIVEMODE=True), pytest.raises(SiteRefused, match="https://"):
        sites.register_callback(acme.merchant, "http://acme.example/back")


@pytest.mark.parametrize(
    ("address", "rule", "covered_by"),
    [
        ("https://shop.acme.example/a", None, "https://acme.example"),
        ("http://localhost:3000/return/x", None, "http://localhost:3000/return"),
        ("http://acme.example/", sites.NOT_HTTPS, None),
        ("https://other.example/", sites.NOT_REGISTERED, None),
        ("javascript:alert(1)", sites.NO_ADDRESS, None),
    ],
)
def test_a_verdict_names_the_rule_or_the_registration(
    acme: ApiClient, address: str, rule: str | None, covered_by: str | None
) -> None:
    sites.register_callback(acme.merchant, "http://localhost:3000/return")

    verdict = sites.why_not(acme.merchant, address)

    assert verdict.rule == rule
    assert (verdict.covered_by and str(verdict.covered_by)) == covered_by


def test_the_chain_stays_whole(acme: ApiClient) -> None:
    change(acme, name="Ünlü Ç. & Söhne", legal_name="\\ \" ' \u200b İ")

    problems: list[Any] = []
    assert audit_chains.verify(tell=problems.append).rows > 1
    assert problems == []


# --- The payout schedule ------------------------------------------------------------------------

DEFAULT = {
    "interval": "manual", "weekly_anchor": None, "monthly_anchor": None, "minimum_amount": 0,
    "delay_days": 1, "installments": "whole",
}  # fmt: skip


def test_a_schedule_is_manual_whole_and_of_one_day_at_first(acme: ApiClient) -> None:
    assert acme.get("/v1/merchant")["payout_schedule"] == DEFAULT


def test_a_change_of_the_schedule_is_told(acme: ApiClient) -> None:
    change(acme, payout_schedule={"interval": "monthly", "monthly_anchor": 31})

    [event] = told(acme)
    before = {"interval": "manual", "monthly_anchor": None}
    assert event["data"]["previous_attributes"] == {"payout_schedule": before}
    [row] = rows(acme)
    after = DEFAULT | {"interval": "monthly", "monthly_anchor": 31}
    assert (row.action, row.after) == ("merchant.updated", {"payout_schedule": after})


def test_another_interval_leaves_the_anchor_behind(acme: ApiClient) -> None:
    change(acme, payout_schedule={"interval": "weekly", "weekly_anchor": "monday"})
    change(acme, payout_schedule={"interval": "daily", "minimum_amount": 5000})

    shown = acme.get("/v1/merchant")["payout_schedule"]
    assert shown == DEFAULT | {"interval": "daily", "minimum_amount": 5000}


@pytest.mark.parametrize(
    "values",
    [
        {"interval": "weekly"}, {"interval": "monthly", "monthly_anchor": 32},
        {"interval": "monthly", "monthly_anchor": 0}, {"weekly_anchor": "monday"},
        {"interval": "weekly", "weekly_anchor": "mon"}, {"interval": "yearly"},
        {"delay_days": 31}, {"delay_days": -1}, {"delay_days": True}, {"delay_days": 1.5},
        {"delay_days": "x"}, {"delay_days": None}, {"delay_days": 2**63},
        {"minimum_amount": -1}, {"minimum_amount": 10**12}, {"installments": "daily"},
        {"colour": "red"}, {"merchant": "mer_1"}, 5, "weekly", None, ["interval"],
    ],
)  # fmt: skip
def test_a_schedule_that_is_none_is_refused(values: Any, acme: ApiClient) -> None:
    with pytest.raises(ChangeRefused, match="payout_schedule"):
        change(acme, payout_schedule=values)

    assert acme.get("/v1/merchant")["payout_schedule"] == DEFAULT
