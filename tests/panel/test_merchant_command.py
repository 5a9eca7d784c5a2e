"""`manage.py merchant`: accounts are shown and changed where no desk is at hand."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command

from merchants.models import AuditEntry, Merchant, RequestLog
from tests.stage.client import ApiClient
from tests.stage.hooks import created

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WHY = ("--reason", "the merchant's mail of today")


def run(*line: str) -> str:
    out = StringIO()
    call_command("merchant", *line, stdout=out)
    return out.getvalue()


def test_all_merchants_are_listed(acme: ApiClient, globex: ApiClient) -> None:
    newest, oldest = run("list").splitlines()

    assert newest.startswith(globex.merchant.id)
    assert newest.endswith("Globex")
    assert oldest.startswith(acme.merchant.id)


def test_a_merchant_is_shown_as_by_the_api(acme: ApiClient) -> None:
    assert json.loads(run("show", acme.merchant.id)) == acme.get("/v1/merchant").body


def test_a_website_is_registered_later(acme: ApiClient) -> None:
    run("website", "add", acme.merchant.id, "https://new.example", *WHY)

    assert acme.get("/v1/merchant")["websites"] == ["https://acme.example", "https://new.example"]
    [event] = acme.events_of(acme.merchant.id)
    cause = RequestLog.objects.get(id=event["request_id"])
    assert (cause.kind, cause.path, cause.merchant) == ("job", "manage.py merchant", acme.merchant)
    assert AuditEntry.objects.latest("id").request_id == cause.id


def test_what_a_removal_leaves_uncovered_is_named_and_goes_on(acme: ApiClient) -> None:
    run("website", "add", acme.merchant.id, "b.example", *WHY)
    left = created(acme, url="https://b.example/hooks")["id"]
    created(acme)  # On the other website.

    told = run("website", "remove", acme.merchant.id, "b.example", *WHY)

    assert f"Goes on without a registration: {left} https://b.example/hooks" in told
    assert told.count("we_") == 1
    assert acme.get(f"/v1/webhook_endpoints/{left}")["status"] == "enabled"


def test_an_endpoint_that_something_else_covers_is_not_named(acme: ApiClient) -> None:
    created(acme, url="https://acme.example/hooks")
    run("callback", "add", acme.merchant.id, "https://acme.example/hooks", *WHY)

    assert "we_" not in run("website", "remove", acme.merchant.id, "acme.example", *WHY)


def test_a_limit_that_is_not_given_stays(acme: ApiClient) -> None:
    run("limits", acme.merchant.id, "--currency", "TRY", "--per-day", "900000", *WHY)
    run("limits", acme.merchant.id, "--currency", "try", "--per-payment", "none", *WHY)

    limits = {row.pop("currency"): row for row in acme.get("/v1/merchant")["non_secure_limits"]}
    assert limits["try"] == {"per_payment": None, "per_day": 900000}
    assert limits["usd"] == {"per_payment": None, "per_day": None}


def test_a_new_currency_allows_no_payment_but_what_is_said(acme: ApiClient) -> None:
    run("limits", acme.merchant.id, "--currency", "usd", "--remove", *WHY)
    run("limits", acme.merchant.id, "--currency", "usd", "--per-day", "5", *WHY)

    limits = {row.pop("currency"): row for row in acme.get("/v1/merchant")["non_secure_limits"]}
    assert limits["usd"] == {"per_payment": 0, "per_day": 5}


def test_an_account_is_restricted_and_opened_again(acme: ApiClient) -> None:
    run("status", acme.merchant.id, "restricted", "--payouts", "off", *WHY)
    shown = acme.get("/v1/merchant")
    assert (shown["charges_enabled"], shown["payouts_enabled"]) == (False, False)

    run("status", acme.merchant.id, "active", *WHY)

    shown = acme.get("/v1/merchant")
    assert (shown["status"], shown["payouts_enabled"]) == ("active", False)
    assert shown["charges_enabled"] is True


@pytest.mark.parametrize(
    "line",
    [
        ("show", "mer_unknown"),
        ("website", "add", "ACME", "co.uk", *WHY),
        ("website", "remove", "ACME", "other.example", *WHY),
        ("website", "remove", "ACME", "http://acme.example", *WHY),
        ("callback", "remove", "ACME", "https://other.example/", *WHY),
        ("status", "ACME", "pending", *WHY),
        ("limits", "ACME", "--currency", "try", *WHY),
        ("limits", "ACME", "--currency", "xxx", "--per-day", "1", *WHY),
        ("limits", "ACME", "--currency", "try", "--per-day", "-1", *WHY),
    ],
    ids=" ".join,
)
def test_a_refusal_is_a_sentence_and_changes_nothing(acme: ApiClient, line: Any) -> None:
    before = acme.get("/v1/merchant").body

    with pytest.raises(CommandError, match=r"\.$"):
        run(*[acme.merchant.id if word == "ACME" else word for word in line])

    assert acme.get("/v1/merchant").body == before
    assert acme.events_of(acme.merchant.id) == []


def test_a_change_wants_a_reason(acme: ApiClient) -> None:
    with pytest.raises(CommandError, match="--reason"):
        run("status", acme.merchant.id, "closed")
    assert Merchant.objects.get(id=acme.merchant.id).status == "active"


def test_a_schedule_changes_in_what_is_given(acme: ApiClient) -> None:
    run("schedule", acme.merchant.id, "--interval", "weekly", "--weekly-anchor", "friday", *WHY)
    run("schedule", acme.merchant.id, "--delay-days", "3", "--installments", "monthly", *WHY)

    assert acme.get("/v1/merchant")["payout_schedule"] == {
        "interval": "weekly", "weekly_anchor": "friday", "monthly_anchor": None,
        "minimum_amount": 0, "delay_days": 3, "installments": "monthly",
    }  # fmt: skip


def test_a_schedule_without_a_change_is_refused(acme: ApiClient) -> None:
    with pytest.raises(CommandError, match="--delay-days"):
        run("schedule", acme.merchant.id, *WHY)


def test_an_owner_is_made_where_the_last_one_is_lost(acme: ApiClient) -> None:
    line = ("owner", acme.merchant.id, "eve@acme.example", "--reason", "The owner died.")

    first, again = run(*line), run(*line)

    assert "They are an owner now. A mail was sent." in first
    assert "nothing has changed" in again
    assert [letter.to for letter in mail.outbox] == [["owner@acme.example"], ["eve@acme.example"]]
    with pytest.raises(CommandError, match="not an e-mail address"):
        run("owner", acme.merchant.id, "nobody", "--reason", "x")
