"""Refunds, payouts and captures of a part in two pages: the second says what happens, and asks."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.signing import b64_decode
from django.test import Client

from ledger.models import Price
from merchants.models import PayoutAccount
from panel import once
from payments.intents.models import Modification
from payments.refunds.models import Refund
from payouts.models import Payout
from tests.stage.bank_transport import BankTransport
from tests.stage.books import every_row
from tests.stage.client import ApiClient
from tests.stage.complaints import Complaint
from tests.stage.held_bank import HeldBank
from tests.stage.notifier import Notifier
from tests.stage.panel_forms import looked
from tests.stage.panel_pages import address
from tests.stage.sent_twice import sent, tab_of
from tests.stage.teams import person, signed_in
from tests.stage.transfers import pay_out, rich

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
PART = {"token": "t", "how_much": "part", "amount": "40.00", "reason": "duplicate"}
ALL = {"token": "t", "how_much": "all", "amount": ""}
OF_REQUESTS = (
    "django_session", "merchants_session", "merchants_member ", "merchants_idempotency",
    "merchants_requestlog",
)  # fmt: skip


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def paid(acme: ApiClient) -> str:
    return str(acme.pay(description="Order 7")["id"])


@pytest.fixture
def url(acme: ApiClient, paid: str) -> str:
    return address("refund_payment", acme.merchant.id, paid)


def words_of(page: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())


def kept() -> list[str]:
    rows = (row for alias in ("default", "bank") for row in every_row(alias))
    return sorted(row for row in rows if not row.startswith(OF_REQUESTS))


def test_the_second_page_says_what_happens_and_nothing_is_kept(
    acme: ApiClient, owner: Client, paid: str, url: str
) -> None:
    Price.objects.filter(merchant=acme.merchant).delete()
    before = kept()

    page = owner.post(url, PART)

    words = words_of(page)
    assert page.status_code == 200
    for said in (
        "Step 2 of 2", "Give back ₺40.00?", "A part of the payment of ₺125.00",
        "To the card Visa •••• 4242",
        "Order 7", "Made twice", "Still refundable afterwards ₺85.00",
        "Your fee does not come back",
        "Goes back to the card −₺40.00", "Your balance changes by −₺40.00",
        "Pending afterwards ₺85.00", "mostly within a few working days",
        "cannot be called back", "Refund ₺40.00", "Change", "Do not refund",
    ):  # fmt: skip
        assert said in words, said
    assert "<script" not in page.content.decode().partition("<main")[2]
    assert kept() == before


def test_the_second_page_acts_by_its_own_fields_alone(
    owner: Client, url: str, paid: str, acme: ApiClient
) -> None:
    page = owner.post(url, PART)
    fields = dict(HIDDEN.findall(page.content.decode().partition("<main")[2]))

    answer = owner.post(url, fields)

    assert answer.status_code == 303
    assert fields["token"] == "t"
    assert acme.payment(paid)["refunded_minor"] == 4000


def test_the_fee_that_comes_back_is_the_one_that_is_booked(acme: ApiClient, owner: Client) -> None:
    Price.objects.create(merchant=acme.merchant, currency="try", bps=300, fixed=0, returns_fee=True)
    paid = acme.pay()["id"]
    url = address("refund_payment", acme.merchant.id, paid)

    fields = looked(owner, url, PART)
    words = words_of(owner.post(url, PART))
    owner.post(url, fields)

    [moved] = acme.get("/v1/balance_transactions?type=refund")["data"]
    assert (moved["fee"], moved["net"]) == (-120, -3880)
    assert "Your fee comes back in proportion +₺1.20" in words
    assert "Your balance changes by −₺38.80" in words


def test_who_may_not_see_the_balance_refunds_without_its_fee(acme: ApiClient) -> None:
    Price.objects.create(merchant=acme.merchant, currency="try", bps=300, fixed=0, returns_fee=True)
    paid = acme.pay()["id"]
    url = address("refund_payment", acme.merchant.id, paid)
    support = signed_in(person("sue@acme.example", (acme.merchant, "support")))

    page = support.post(url, PART)
    answer = support.post(url, {**PART, "seen": page.context["seen"]})

    words, agreed = words_of(page), b64_decode(page.context["seen"].split(":")[0].encode())
    assert "Goes back to the card −₺40.00" in words
    for hidden in ("fee", "Your balance", "Available afterwards", "1.20", "38.80"):
        assert hidden not in words, hidden
    assert json.loads(agreed)["fee"] is None
    assert (answer.status_code, acme.payment(paid)["refunded_minor"]) == (303, 4000)


def test_all_that_is_left_is_given_back_whatever_stands_in_the_hidden_amount(
    acme: ApiClient, owner: Client, paid: str, url: str
) -> None:
    page = owner.post(url, {**ALL, "amount": "1.00"})
    words = words_of(page)

    answer = owner.post(url, {**ALL, "amount": "1.00", "seen": page.context["seen"]})

    assert "Give back ₺125.00?" in words
    assert "(void)" in words
    assert answer.status_code == 303
    assert acme.payment(paid)["refunded_minor"] == 12500


def test_support_sees_what_goes_back_and_not_the_balance(acme: ApiClient, url: str) -> None:
    support = signed_in(person("sue@acme.example", (acme.merchant, "support")))

    words = words_of(support.post(url, PART))

    assert "Goes back to the card −₺40.00" in words
    assert "afterwards ₺85.00" in words.partition("What it costs")[0]
    for hidden in ("Your balance", "fee", "Available afterwards", "Pending afterwards"):
        assert hidden not in words


def test_what_the_second_page_carries_has_no_balance(acme: ApiClient, url: str) -> None:
    support = signed_in(person("sue@acme.example", (acme.merchant, "support")))

    seen = support.post(url, PART).context["seen"]

    carried = b64_decode(seen.partition(":")[0].encode()).decode()
    assert '"fee":null,"net":null' in carried
    for hidden in ("available", "pending", "8500"):
        assert hidden not in carried.replace('"left":8500', "")


def test_change_leads_back_to_the_form_as_it_was_filled_in(
    owner: Client, url: str, acme: ApiClient, paid: str
) -> None:
    fields = looked(owner, url, PART)

    back = owner.post(url, {**fields, "change": "yes"})
    other = looked(owner, url, {**PART, "amount": "41.00"})
    owner.post(url, other)

    page = back.content.decode()
    assert back.status_code == 200
    assert 'value="40.00"' in page
    assert re.search(r'value="part"[^>]*checked', page)
    assert 'name="token" value="t"' in page
    assert acme.payment(paid)["refunded_minor"] == 4100


# --- Something changes between the two pages ----------------------------------------------------


def test_a_refund_between_the_two_pages_brings_the_second_one_again(
    acme: ApiClient, owner: Client, paid: str, url: str
) -> None:
    part, whole = looked(owner, url, PART), looked(owner, url, {**ALL, "token": "u"})
    acme.refund(paid, amount=5000)

    answers = [owner.post(url, fields) for fields in (part, whole)]
    said = [words_of(answer) for answer in answers]

    assert [one.status_code for one in answers] == [409, 409]
    for words in said:
        assert "Something has changed since you looked. Nothing was done." in words
    assert "Still refundable afterwards: ₺85.00 → ₺35.00" in said[0]
    assert "Goes back to the card: ₺125.00 → ₺75.00" in said[1]
    assert "The payment is undone (void): yes → no" in said[1]
    assert acme.payment(paid)["refunded_minor"] == 5000

    again = owner.post(url, {**part, "seen": answers[0].context["seen"]})
    assert again.status_code == 303
    assert acme.payment(paid)["refunded_minor"] == 9000


def test_a_dispute_between_the_two_pages_brings_the_second_one_again(
    acme: ApiClient, owner: Client, notifier: Notifier
) -> None:
    complaint = Complaint(acme, notifier)
    url = address("refund_payment", acme.merchant.id, complaint.payment_id)
    fields = looked(owner, url, PART)
    complaint.opened(amount=5000)

    answer = owner.post(url, fields)

    assert answer.status_code == 409
    assert "Still refundable afterwards: ₺85.00 → ₺35.00" in words_of(answer)
    assert not Refund.objects.exists()


def test_a_payment_that_is_wholly_disputed_meanwhile_is_refused(
    acme: ApiClient, owner: Client, notifier: Notifier
) -> None:
    complaint = Complaint(acme, notifier)
    url = address("refund_payment", acme.merchant.id, complaint.payment_id)
    fields = looked(owner, url, PART)
    complaint.opened()

    answer = owner.post(url, fields)

    assert answer.status_code == 400
    assert "disputed at the bank" in words_of(answer)
    assert not Refund.objects.exists()


@pytest.mark.parametrize("seen", ["", "x", "{}:forged", "other's"])
def test_facts_that_we_did_not_sign_are_not_agreed_to(
    acme: ApiClient, owner: Client, url: str, seen: str
) -> None:
    if seen == "other's":
        bob = signed_in(person("bob@acme.example", (acme.merchant, "owner")))
        seen = looked(bob, url, PART)["seen"]

    answer = owner.post(url, {**PART, "seen": seen})

    assert (answer.status_code, answer.context["changed"]) == (200, [])
    assert not Refund.objects.exists()


def test_an_account_that_changes_between_the_two_pages_gets_no_payout(
    acme: ApiClient, owner: Client
) -> None:
    rich(acme)
    url = address("create_payout", acme.merchant.id)
    asked = {"token": "t", "amount": "50.00", "currency": "try", "destination": "main"}
    shown = words_of(owner.post(url, asked))
    fields = looked(owner, url, asked)
    PayoutAccount.objects.update(iban="TR330006100519786457841399", holder_name="Eve")
    pay_out(acme, 1000)

    changed = owner.post(url, fields)
    words = words_of(changed)
    agreed = owner.post(url, {**fields, "seen": changed.context["seen"]})

    for said in ("Pay out ₺50.00?", "main · TR33 •••• 1326", "Acme Ltd", "Arrives",
                 "Available afterwards ₺950.00", "cannot be called back"):  # fmt: skip
        assert said in shown, said
    assert changed.status_code == 409
    assert "Account: main · TR33 •••• 1326 → main · TR33 •••• 1399" in words
    assert "Holder: Acme Ltd → Eve" in words
    # The balance is no part of it, as long as it suffices.
    assert "Available afterwards ₺940.00" in words
    assert agreed.status_code == 303
    assert Payout.objects.get(amount=5000).holder_name == "Eve"


def test_a_capture_carries_its_amount_and_a_part_is_asked_about(
    acme: ApiClient, owner: Client
) -> None:
    held = acme.pay(capture_method="manual")["id"]
    url = address("capture_payment", acme.merchant.id, held)
    button = words_of(owner.get(address("payment", acme.merchant.id, held)))
    page = words_of(owner.get(url))

    asked = words_of(owner.post(url, {"token": "t", "how_much": "part", "amount": "100.00"}))
    much = owner.post(url, {"token": "t", "how_much": "part", "amount": "125.01"})
    assert not Modification.objects.exists()
    whole = owner.post(url, {"token": "t", "how_much": "all"})

    assert "Capture ₺125.00" in button
    assert "Capture ₺125.00" in page
    assert "Released to the cardholder ₺25.00" in asked
    assert much.status_code == 400
    assert whole.status_code == 303
    assert acme.payment(held)["captured_minor"] == 12500


# --- A slow bank --------------------------------------------------------------------------------


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_form_that_is_sent_three_times_at_a_slow_bank_refunds_once(
    acme: ApiClient, owner: Client, paid: str, url: str, bank: BankTransport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(once, "WAIT_SECONDS", 0)
    fields = looked(owner, url, PART)
    held = HeldBank(bank)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(sent, lambda: tab_of(owner).post(url, fields))
        held.await_asked()

        others = [tab_of(owner).post(url, fields) for _ in range(2)]
        looks = [owner.get(other.url) for other in others]
        held.answer(9)
        way_on = first.result(60).url

    done = owner.get(others[0].url)
    assert [one.status_code for one in (*others, *looks)] == [303, 303, 202, 202]
    assert "It is being done" in words_of(looks[0])
    assert (done.status_code, done.url) == (302, way_on)
    assert Refund.objects.get().amount == 4000
