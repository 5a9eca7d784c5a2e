"""Merchants at the desk: opened, and changed in two steps by `accounts.change` alone."""

from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import Event
from merchants import accounts
from merchants.models import ApiKey, AuditEntry, Merchant, RequestLog, User
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.desk import HIDDEN, Desk
from tests.stage.factories import GOOD_CARD, MerchantFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LIMITS = {
    "currency": "try",
    "non_secure": "on",
    "per_payment": "900000",
    "per_day": "",
    "negative": "5",
}
SCHEDULE = {
    "interval": "manual", "weekly_anchor": "", "monthly_anchor": "", "minimum_amount": "0",
    "delay_days": "1", "installments": "whole",
}  # fmt: skip
ACCOUNT = {
    "reference": "kasa", "holder_name": "Acme Ltd", "iban": "TR33 0006 1005 1978 6457 8413 26",
}  # fmt: skip
OPENING = {
    "name": "Anka", "email": "ada@anka.example", "country": "TR",
    "websites": "https://anka.example", "callbacks": "", "why": "They signed the contract.",
}  # fmt: skip


def per_payment(acme: ApiClient) -> int | None:
    return acme.merchant.non_secure_limits.get(currency="try").per_payment


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_limit_is_raised_in_two_steps(desk: Desk, acme: ApiClient) -> None:
    shown = desk.post("desk_merchant_change", acme.merchant.id, "limits", form=LIMITS)
    assert "Per payment: 500000" in shown.content.decode()
    assert "Per payment: 900000" in shown.content.decode()
    assert per_payment(acme) == 500_000

    done = desk.change(acme.merchant.id, "limits", **LIMITS)

    assert (done.status_code, done["Location"]) == (
        303,
        f"/admin/desk/merchants/{acme.merchant.id}/",
    )
    assert per_payment(acme) == 900_000
    assert acme.merchant.negative_limits.get(currency="try").amount == 5
    [row] = AuditEntry.objects.filter(action="limit.changed")
    assert (row.actor, row.actor_name, row.reason) == ("operator", desk.person.email, "They asked.")
    event = Event.objects.get(type="merchant.updated")
    log = RequestLog.objects.get(id=event.request_id)
    assert row.request_id == event.request_id
    assert (log.kind, log.path, log.ip) == ("job", "operators.change_merchant", None)


CHANGES: list[tuple[str, dict[str, Any], str]] = [
    ("status", {"status": "restricted"}, "merchant.updated"),
    ("details", {
        "name": "Acme & Sons", "email": "owner@acme.example", "timezone": "Europe/Istanbul",
        "country": "TR", "default_currency": "try",
    }, "merchant.updated"),
    ("plans", {"lines": "* 2 0\nbonus 3 275 10000"}, "plan.changed"),
    ("risk", {"lines": "card_velocity=review/5\namount:try=review/500000"}, "risk_rule.changed"),
    ("prices", {"lines": "try * * 250 25\ntry credit 3 300 0 returns_fee"}, "price.changed"),
    ("schedule", {**SCHEDULE, "interval": "weekly", "weekly_anchor": "friday"}, "merchant.updated"),
    ("add_account", ACCOUNT, "payout_account.added"),
    ("add_website", {"address": "new.example"}, "website.added"),
    ("remove_website", {"address": "acme.example"}, "website.removed"),
    ("add_callback", {"address": "https://pay.example/back"}, "callback.added"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "typed", "action"), CHANGES, ids=[c[0] for c in CHANGES])
def test_each_change_has_one_audit_row_and_one_request(
    desk: Desk, acme: ApiClient, kind: str, typed: dict[str, Any], action: str
) -> None:
    known = set(AuditEntry.objects.values_list("id", flat=True))

    assert desk.change(acme.merchant.id, kind, **typed).status_code == 303

    [row] = AuditEntry.objects.exclude(id__in=known)
    assert (row.action, row.reason, row.address) == (action, "They asked.", "127.0.0.1")
    assert RequestLog.objects.get(id=row.request_id).path == "operators.change_merchant"


def test_to_look_at_a_change_leaves_nothing(desk: Desk, acme: ApiClient) -> None:
    before = AuditEntry.objects.count(), Event.objects.count(), RequestLog.objects.count()

    desk.post("desk_merchant_change", acme.merchant.id, "status", form={"status": "closed"})

    assert (AuditEntry.objects.count(), Event.objects.count(), RequestLog.objects.count()) == before
    assert Merchant.objects.get().status == "active"


def test_a_stale_page_changes_nothing(desk: Desk, acme: ApiClient) -> None:
    shown = desk.post("desk_merchant_change", acme.merchant.id, "limits", form=LIMITS)
    seen = dict(HIDDEN.findall(shown.content.decode()))["seen"]
    other = {"try": {"per_payment": 1, "per_day": None}}
    accounts.change(acme.merchant, {"non_secure_limits": other}, "meanwhile")

    form = {**LIMITS, "seen": seen, "why": "They asked."}
    late = desk.post("desk_merchant_change", acme.merchant.id, "limits", form=form)

    assert late.status_code == 409
    assert "Per payment: 1," in late.content.decode()
    assert per_payment(acme) == 1


def test_a_form_that_is_sent_twice_changes_once(desk: Desk, acme: ApiClient) -> None:
    shown = desk.post("desk_merchant_change", acme.merchant.id, "limits", form=LIMITS)
    seen = dict(HIDDEN.findall(shown.content.decode()))["seen"]
    form = {**LIMITS, "seen": seen, "why": "They asked."}

    twice = [
        desk.post("desk_merchant_change", acme.merchant.id, "limits", form=form) for _ in range(2)
    ]

    assert [answer.status_code for answer in twice] == [303, 303]
    assert AuditEntry.objects.filter(action="limit.changed").count() == 1


def test_no_change_is_made_without_a_reason(desk: Desk, acme: ApiClient) -> None:
    assert desk.change(acme.merchant.id, "limits", why=" ", **LIMITS).status_code == 400
    assert per_payment(acme) == 500_000


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("status", {"status": "gone"}),
        ("limits", {**LIMITS, "currency": "xxx"}),
        ("limits", {**LIMITS, "per_payment": "-1"}),
        ("limits", {**LIMITS, "per_payment": "1000000000000"}),
        ("limits", {**LIMITS, "per_payment": "１２" * 20}),
        ("plans", {"lines": "bonus"}),
        ("plans", {"lines": "bonus 13 0"}),
        ("plans", {"lines": "bonus 3 0\nbonus 3 1"}),
        ("plans", {"lines": "bonus 3 0 1 1"}),
        ("risk", {"lines": "nothing=block"}),
        ("risk", {"lines": "card_velocity=block/0"}),
        ("risk", {"lines": "card_velocity"}),
        ("risk", {"lines": "amount:try=review/1/2/3"}),
        ("prices", {"lines": "try * * 250"}),
        ("prices", {"lines": "try * * -1 0"}),
        ("prices", {"lines": "try * * 10001 0"}),
        ("prices", {"lines": "try * 13 100 0"}),
        ("prices", {"lines": "try * * 100 1000000000000"}),
        ("prices", {"lines": "try cash * 100 0"}),
        ("prices", {"lines": "try * * 100 0 returns"}),
        ("prices", {"lines": "jpy * * 100 0"}),
        ("prices", {"lines": "try * * 100 0\nTRY * * 200 0"}),
        ("schedule", {**SCHEDULE, "interval": "weekly"}),
        ("schedule", {**SCHEDULE, "interval": "monthly", "monthly_anchor": "32"}),
        ("schedule", {**SCHEDULE, "delay_days": "31"}),
        ("schedule", {**SCHEDULE, "minimum_amount": "-1"}),
        ("schedule", {**SCHEDULE, "minimum_amount": "1000000000000"}),
        ("add_account", {**ACCOUNT, "iban": "TR00 0006 1005 1978 6457 8413 26"}),
        ("add_account", {**ACCOUNT, "reference": "a b"}),
        ("add_account", {**ACCOUNT, "holder_name": ""}),
        ("remove_account", {"reference": "unknown"}),
        ("default_account", {"reference": "unknown"}),
        ("add_website", {"address": "co.uk"}),
        ("add_website", {"address": "\ufffd"}),
        ("add_callback", {"address": "ftp://pay.example"}),
        ("remove_website", {"address": "unknown.example"}),
        ("details", {}),
    ],
)
def test_a_bad_value_is_told_at_the_form(
    desk: Desk, acme: ApiClient, kind: str, typed: dict[str, Any]
) -> None:
    answer = desk.change(acme.merchant.id, kind, **typed)

    assert answer.status_code == 400
    assert b"errorlist" in answer.content
    assert AuditEntry.objects.filter(actor="operator").count() == 0


def test_a_card_number_is_refused_and_not_shown_again(desk: Desk, acme: ApiClient) -> None:
    spaced = "4242 4242 4242 4242"
    for kind, typed in (("add_website", {"address": GOOD_CARD}), ("plans", {"lines": spaced})):
        answer = desk.change(acme.merchant.id, kind, **typed)
        assert answer.status_code == 400
        assert "There is a card number in it." in answer.content.decode()
        assert GOOD_CARD not in answer.content.decode()
        assert spaced not in answer.content.decode()

    answer = desk.change(acme.merchant.id, "limits", why=f"It is {GOOD_CARD}", **LIMITS)
    assert answer.status_code == 400
    assert GOOD_CARD not in answer.content.decode()


def test_stored_text_is_shown_as_text(desk: Desk) -> None:
    evil = '"><script>alert(1)</script>'
    merchant = MerchantFactory(name=evil)

    tabs = ("desk_merchant", "desk_merchant_terms", "desk_merchant_access")
    for page in (desk.get("desk_merchants"), *(desk.get(tab, merchant.id) for tab in tabs)):
        assert evil not in page.content.decode()
        assert "&lt;script&gt;" in page.content.decode()


@pytest.mark.parametrize("bad", ["1", "mer_", "mer_' OR 1=1", "%ff", "x" * 2000, "mer_ü"])
def test_an_unknown_merchant_is_404(desk: Desk, bad: str) -> None:
    assert desk.http.get(f"/admin/desk/merchants/{bad}/").status_code == 404


def test_an_unknown_kind_of_change_is_404(desk: Desk, acme: ApiClient) -> None:
    assert desk.get("desk_merchant_change", acme.merchant.id, "secret").status_code == 404


def test_an_account_is_opened_and_no_secret_is_shown(desk: Desk) -> None:
    answer = desk.send("desk_merchant_open", form=OPENING)

    merchant = Merchant.objects.get()
    assert (answer.status_code, answer["Location"]) == (
        303,
        f"/admin/desk/merchants/{merchant.id}/",
    )
    assert (ApiKey.objects.count(), Event.objects.count()) == (0, 0)
    rows = AuditEntry.objects.order_by("sequence")
    assert [row.action for row in rows] == ["merchant.opened", "member.added", "website.added"]
    assert {row.reason for row in rows} == {OPENING["why"]}
    [letter] = mail.outbox
    assert letter.to == ["ada@anka.example"]
    assert merchant.negative_limits.exists()


def test_a_form_is_one_account(desk: Desk) -> None:
    page = desk.get("desk_merchant_open").content.decode()
    form = {**dict(HIDDEN.findall(page)), **OPENING}

    twice = [desk.post("desk_merchant_open", form=form) for _ in range(2)]

    assert [answer.status_code for answer in twice] == [303, 303]
    assert Merchant.objects.count() == 1
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"act": "mer_made_up"}, {"name": ""}, {"email": "nobody"}, {"country": "tr"},
        {"country": "ZZ"},
        {"websites": "http://anka.example"}, {"callbacks": "nothing"}, {"why": ""},
        {"name": GOOD_CARD},
    ],
)  # fmt: skip
def test_an_account_with_a_bad_value_is_not_opened(desk: Desk, bad: dict[str, str]) -> None:
    answer = desk.send("desk_merchant_open", form={**OPENING, **bad})

    assert answer.status_code == 400
    assert GOOD_CARD not in answer.content.decode()
    assert (Merchant.objects.count(), User.objects.count(), mail.outbox) == (0, 1, [])


# --- Lists ------------------------------------------------------------------------------------


def test_the_list_walks_older_and_newer(desk: Desk) -> None:
    newest_first = sorted((MerchantFactory(name=f"Shop {n}").id for n in range(7)), reverse=True)

    first = desk.get("desk_merchants", limit=3).context["found"]
    second = desk.http.get(first.older).context["found"]
    third = desk.http.get(second.older).context["found"]
    back = desk.http.get(third.newer).context["found"]

    walked = [row.id for page in (first, second, third) for row in page.rows]
    assert walked == newest_first
    assert [row.id for row in back.rows] == newest_first[3:6]
    assert (first.newer, third.older) == (None, None)


def test_the_list_is_filtered(desk: Desk, acme: ApiClient) -> None:
    MerchantFactory(name="Globex", email="g@globex.example", status="closed")

    def found(**query: str) -> list[str]:
        rows = desk.get("desk_merchants", **query).context["found"].rows
        return sorted(row.name for row in rows)

    assert found() == ["Acme Store", "Globex"]
    assert found(q="glo") == found(status="closed") == ["Globex"]
    assert found(q=acme.merchant.id) == ["Acme Store"]
    assert found(q="%") == []
    Merchant.objects.filter(name="Globex").update(name="Işık İstanbul")
    for text in ("ISIK", "ışık", "istanbul", " İSTANBUL\u200b"):
        assert found(q=text) == ["Işık İstanbul"], text


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=x",
        "limit=1&limit=2",
        "starting_after=nobody",
        "starting_after=a&ending_before=b",
    ],
)
def test_a_bad_page_is_refused(desk: Desk, query: str) -> None:
    assert desk.http.get(f"/admin/desk/merchants/?{query}").status_code in (400, 404)


def test_a_list_asks_as_much_of_many_rows_as_of_few(desk: Desk) -> None:
    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert desk.get("desk_merchants").status_code == 200
        assert not any("OFFSET" in one["sql"] for one in queries)
        return len(queries)

    MerchantFactory()
    few = asked()
    for _ in range(20):
        MerchantFactory()

    assert asked() == few


def test_a_merchants_page_asks_as_much_of_many_rows_as_of_few(desk: Desk, acme: ApiClient) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            for tab in ("desk_merchant", "desk_merchant_terms", "desk_merchant_access"):
                assert desk.get(tab, acme.merchant.id).status_code == 200
        return len(queries)

    few = asked()
    for number in range(5):
        acme.merchant.websites.create(
            host=f"s{number}.example", created_at=acme.merchant.created_at
        )
        acme.with_scopes(events="read")
        person = User.objects.create_user(f"p{number}@example.com")
        acme.merchant.members.create(
            user=person, role="support", created_at=acme.merchant.created_at
        )

    assert asked() == few


# --- Money ------------------------------------------------------------------------------------


def test_a_price_that_is_written_down_is_taken_of_the_next_charge(
    desk: Desk, acme: ApiClient, bank: BankTransport
) -> None:
    lines = "try * * 250 25\ntry credit * 300 0 returns_fee"
    assert desk.change(acme.merchant.id, "prices", lines=lines).status_code == 303

    page = desk.get("desk_merchant_change", acme.merchant.id, "prices").content.decode()
    acme.pay(amount=10_000)
    [charged] = acme.get("/v1/balance_transactions")["data"]

    assert "try * * 250 25\ntry credit * 300 0 returns_fee</textarea>" in page
    assert charged["fee"] == 300


def test_the_anchor_goes_with_its_interval(desk: Desk, acme: ApiClient) -> None:
    weekly = {**SCHEDULE, "interval": "weekly", "weekly_anchor": "friday"}
    desk.change(acme.merchant.id, "schedule", **weekly)

    desk.change(acme.merchant.id, "schedule", **{**weekly, "interval": "monthly",
                                                 "monthly_anchor": "31"})  # fmt: skip

    shown = acme.get("/v1/merchant")["payout_schedule"]
    assert (shown["interval"], shown["weekly_anchor"], shown["monthly_anchor"]) == (
        "monthly", None, 31,
    )  # fmt: skip


def test_another_account_becomes_the_default_and_the_first_one_goes(
    desk: Desk, acme: ApiClient
) -> None:
    merchant = acme.merchant.id
    for reference in ("kasa", "other"):
        desk.change(merchant, "add_account", **{**ACCOUNT, "reference": reference})

    refused = desk.change(merchant, "remove_account", reference="kasa")
    desk.change(merchant, "default_account", reference="other")
    desk.change(merchant, "remove_account", reference="kasa")

    assert "It is the default account" in refused.content.decode()
    assert [(row.reference, row.is_default) for row in acme.merchant.payout_accounts.all()] == [
        ("other", True)
    ]


def test_of_an_iban_the_pages_and_the_log_have_the_end_alone(desk: Desk, acme: ApiClient) -> None:
    desk.change(acme.merchant.id, "add_account", **ACCOUNT)

    page = desk.get("desk_merchant_terms", acme.merchant.id).content.decode()
    [row] = AuditEntry.objects.filter(action="payout_account.added")

    assert "…1326" in page
    assert "0519786457841326" not in f"{page}{row.after}"
