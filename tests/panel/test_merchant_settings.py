"""The merchant's settings: what owners change, what they see, and the mails that follow."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from merchants import accounts, notices
from merchants.models import AuditEntry, InstallmentPlan, Merchant, RiskRule
from merchants.notices import MailKind
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.teams import person, signed_in
from tests.stage.webhook_world import fail_until_given_up, tell_many
from webhooks import notices as endpoint_notices

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FORM = {
    "name": "Acme & Sons",
    "notice_emails": "it@acme.example\nmoney@acme.example",
    "notices": ["endpoint_failing", "case_closed"],
    "notice_language": "tr",
}


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def save(client: Client, merchant: Merchant, **changes: Any) -> Any:
    url = f"/panel/{merchant.id}/settings/edit"
    token = client.get(url).context["token"]
    answer = client.post(url, {**FORM, "token": token, **changes})
    merchant.refresh_from_db()
    return answer


def test_an_owner_changes_name_and_notices_through_the_one_door(
    owner: Client, acme: ApiClient
) -> None:
    merchant = acme.merchant

    answer = save(owner, merchant)

    assert answer.status_code == 303
    assert merchant.name == "Acme & Sons"
    assert merchant.notice_emails == ["it@acme.example", "money@acme.example"]
    assert {*merchant.silenced_notices} == {*MailKind} - {*FORM["notices"]}
    assert acme.get("/v1/merchant").body["name"] == "Acme & Sons"
    [row] = AuditEntry.objects.filter(action="merchant.updated")
    assert (row.actor_name, row.after["name"]) == ("ada@acme.example", "Acme & Sons")
    page = owner.get(answer["Location"]).content.decode()
    for shown in ("Acme &amp; Sons", "it@acme.example", "Türkçe", "Europe/Istanbul"):
        assert shown in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", "x" * 201), ("name", "4242 4242 4242 4242"),
        ("notice_emails", "nobody"), ("notice_emails", "a@b.example,a@B.example"),
        ("notice_emails", " ".join(f"a{n}@b.example" for n in range(11))),
        ("notice_emails", "x" * 250 + "@b.example"), ("notices", "rain"),
        ("notice_language", "de"), ("notice_emails", "a@b.example\x00"),
    ],
)  # fmt: skip
def test_a_value_that_is_none_changes_nothing(
    owner: Client, acme: ApiClient, field: str, value: str
) -> None:
    name = acme.merchant.name

    answer = save(owner, acme.merchant, **{field: value})

    assert answer.status_code == 400
    assert "4242 4242" not in answer.content.decode()
    assert (acme.merchant.name, acme.merchant.notice_emails) == (name, [])
    assert not AuditEntry.objects.filter(action="merchant.updated").exists()


def test_fields_of_ours_are_ignored(owner: Client, acme: ApiClient) -> None:
    save(owner, acme.merchant, timezone="UTC", email="eve@x.example", charges_enabled="")

    assert acme.merchant.timezone == "Europe/Istanbul"
    assert acme.merchant.email != "eve@x.example"
    assert acme.merchant.charges_enabled


def test_what_we_change_is_told_in_words(owner: Client, acme: ApiClient) -> None:
    merchant = acme.merchant
    merchant.non_secure_limits.all().delete()
    merchant.non_secure_limits.create(currency="try", per_payment=150000, per_day=None)
    merchant.negative_limits.create(currency="try", amount=500000)
    InstallmentPlan.objects.create(
        merchant=merchant, program="bonus", installments=3, surcharge_rate_bps=250
    )
    RiskRule.objects.create(
        merchant=merchant, rule="amount", currency="try", deed="review", threshold=990000
    )

    page = owner.get(f"/panel/{merchant.id}/settings").content.decode()

    for shown in (
        "₺1,500.00", "no limit per day", "₺5,000.00", "Bonus · 3 installments · surcharge 2.50 %",
        "A high amount (₺9,900.00): is looked at by a person", "Ask us to change this",
    ):  # fmt: skip
        assert shown in page


def test_the_page_says_what_would_be_taken_and_paid_out_now(owner: Client, acme: ApiClient) -> None:
    words = [("Takes payments", "Yes"), ("Is paid out", "Yes")]
    assert yes_or_no(owner, acme) == words

    accounts.change(acme.merchant, {"payouts_enabled": False})
    assert yes_or_no(owner, acme) == [words[0], ("Is paid out", "No")]

    accounts.change(acme.merchant, {"status": "restricted"})
    assert yes_or_no(owner, acme) == [("Takes payments", "No"), ("Is paid out", "No")]


def yes_or_no(owner: Client, acme: ApiClient) -> list[tuple[str, str]]:
    page = owner.get(f"/panel/{acme.merchant.id}/settings").content.decode()
    return re.findall("<dt>(Takes payments|Is paid out)</dt><dd>([^<]*)</dd>", page)


def test_notices_go_to_the_addresses_in_their_language(acme: ApiClient) -> None:
    endpoint = EndpointFactory(merchant=acme.merchant)
    accounts.change(
        acme.merchant,
        {"notice_emails": ["it@acme.example", "b@acme.example"], "notice_language": "tr"},
    )
    tell_many(acme.merchant, 3)
    fail_until_given_up(endpoint)

    assert endpoint_notices.send_due() == 2

    assert [one.to for one in mail.outbox] == [["it@acme.example"], ["b@acme.example"]]
    assert mail.outbox[0].subject == "Webhook uç noktanız hata veriyor"
    assert f"/panel/{acme.merchant.id}/webhooks/{endpoint.id}" in str(mail.outbox[0].body)
    assert "Adres:" in mail.outbox[0].body


def test_a_silenced_kind_is_sent_to_nobody_and_not_owed(acme: ApiClient) -> None:
    endpoint = EndpointFactory(merchant=acme.merchant)
    accounts.change(acme.merchant, {"silenced_notices": ["endpoint_failing"]})
    tell_many(acme.merchant, 3)
    fail_until_given_up(endpoint)

    assert endpoint_notices.send_due() == 0

    endpoint.refresh_from_db()
    assert (mail.outbox, endpoint.mail_due_at) == ([], None)


def test_key_changes_reach_the_owners_although_they_are_silenced(
    owner: Client, acme: ApiClient
) -> None:
    accounts.change(acme.merchant, {"silenced_notices": [*MailKind]})
    key = acme.merchant.api_keys.get()
    url = f"/panel/{acme.merchant.id}/keys/{key.id}/revoke"

    owner.post(url, {"token": owner.get(url).context["token"]})

    owners = acme.merchant.members.filter(role="owner").values_list("user__email", flat=True)
    assert {one.to[0] for one in mail.outbox} == {*owners} >= {"ada@acme.example"}


def test_one_address_gets_one_mail(acme: ApiClient) -> None:
    person("ada@acme.example", (acme.merchant, "owner"))
    addresses = ["ADA@acme.example", "it@acme.example"]
    merchant = accounts.change(acme.merchant, {"notice_emails": addresses})
    to = [*notices.owners(merchant), *notices.readers(merchant, MailKind.KEY_CHANGED)]

    notices.send(notices.Letter("x", "panel/mails/access.txt", {}), to)

    sent = [one.to[0].lower() for one in mail.outbox]
    assert len(sent) == len(set(sent))
    assert {"ada@acme.example", "it@acme.example"} <= set(sent)
