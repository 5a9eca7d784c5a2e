"""Payment pages in the panel: a payment is asked for by link, asked for again, and called off."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from core import clock
from merchants.models import AuditEntry
from payments.checkout.models import CheckoutSession
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import ends, opened, over, session, waiting
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, GOOD_CARD, confirmation, three_d_secure
from tests.stage.panel_pages import address
from tests.stage.teams import person, signed_in

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("bank"),
]

EMAIL = "ada@acme.example"
FORM = {"token": "once", "amount": "125.00", "currency": "try", "locale": "tr", "days": "3"}


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person(EMAIL, (acme.merchant, "owner")))


def read(client: Client, acme: ApiClient, name: str, thing: str = "", status: int = 200) -> str:
    page = client.get(address(name, acme.merchant.id, thing))
    assert page.status_code == status
    return " ".join(page.content.decode().split())


def ask(client: Client, acme: ApiClient, **fields: str) -> Any:
    return client.post(address("ask_for_payment", acme.merchant.id), {**FORM, **fields})


def ask_again(client: Client, acme: ApiClient, payment: str, **fields: str) -> Any:
    form = {"token": "again", "locale": "auto", "days": "1", **fields}
    return client.post(address("ask_again", acme.merchant.id, payment), form)


def end(client: Client, acme: ApiClient, session_id: str, token: str = "off") -> Any:
    url = address("end_payment_page", acme.merchant.id, session_id)
    return client.post(url, {"token": token})


def test_a_payment_is_asked_for_once_and_its_link_shown(owner: Client, acme: ApiClient) -> None:
    fields = {"description": "Two tea glasses", "customer_email": "zeynep@x.example"}

    answers = [ask(owner, acme, **fields) for _ in range(2)]

    made, payment = CheckoutSession.objects.get(), PaymentIntent.objects.get()
    assert [one.status_code for one in answers] == [303, 303]
    assert {one.url for one in answers} == {address("payment_page", acme.merchant.id, made.id)}
    shown = session(acme, made.id)
    assert (shown["amount_total"], shown["locale"]) == (12500, "tr")
    assert (shown["customer_email"], payment.description) == (
        "zeynep@x.example",
        "Two tea glasses",
    )
    assert made.installments_max == 1
    page = read(owner, acme, "payment_page", made.id)
    for words in ("The payment page is ready", shown["url"], "₺125.00", "Open", payment.id,
                  "zeynep@x.example", "Two tea glasses", "<dd>Türkçe</dd>",
                  "Not offered"):  # fmt: skip
        assert words in page, words


def test_the_link_is_what_the_page_copies_first(owner: Client, acme: ApiClient) -> None:
    made = opened(acme)

    main = read(owner, acme, "payment_page", made["id"]).partition("<main")[2]

    before, _, after = main.partition("data-copy=")
    assert made["url"] in before
    assert after.startswith('""'), "it copies the text beside it"


@pytest.mark.parametrize("days", [1, 3, 7, 30])
def test_the_link_works_for_the_days_that_were_chosen(
    owner: Client, acme: ApiClient, days: int
) -> None:
    ask(owner, acme, days=str(days), installments="on")

    made = session(acme, CheckoutSession.objects.get().id)
    left = datetime.fromtimestamp(made["expires_at"], UTC) - clock.now()
    assert timedelta(days=days, minutes=-1) < left <= timedelta(days=days)
    assert CheckoutSession.objects.get().installments_max == 12


def test_what_a_person_does_is_in_the_audit_log_and_what_a_key_does_is_not(
    owner: Client, acme: ApiClient
) -> None:
    by_key = opened(acme)["id"]
    acme.post(f"/v1/checkout/sessions/{by_key}/expire", {})
    ask(owner, acme)
    made = CheckoutSession.objects.get(status="open")
    end(owner, acme, made.id)

    rows = AuditEntry.objects.filter(action__startswith="checkout.").order_by("sequence")
    assert [(row.action, row.subject, row.actor_name) for row in rows] == [
        ("checkout.created", made.id, EMAIL),
        ("checkout.expired", made.id, EMAIL),
    ]
    terms = {"payment_intent": made.intent_id, "amount": 12500, "currency": "try"}
    assert rows[0].after == terms
    log = read(owner, acme, "audit_log")
    assert "Payment page made" in log
    assert address("payment_page", acme.merchant.id, made.id) in log


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"amount": ""}, "amount", "Give an amount"),
        ({"amount": "0"}, "amount", "Give an amount such as"),
        ({"amount": "-5"}, "amount", "Give an amount such as"),
        ({"amount": "1,5"}, "amount", "Give an amount such as"),
        ({"amount": "99999999999.00"}, "amount", "No payment may be so large"),
        ({"currency": "xxx"}, "currency", "Select a valid choice"),
        ({"customer_email": "nobody"}, "customer_email", "Must be an e-mail address"),
        ({"description": "x" * 1001}, "description", "too long"),
        ({"locale": "de"}, "locale", "Select a valid choice"),
        ({"days": "31"}, "days", "Select a valid choice"),
    ],
)
def test_a_refusal_stands_at_its_input_and_makes_nothing(
    owner: Client, acme: ApiClient, fields: dict[str, str], field: str, words: str
) -> None:
    page = ask(owner, acme, **fields)

    assert page.status_code == 400
    assert list(page.context["form"].errors) == [field]
    assert words in str(page.context["form"].errors[field])
    assert 'name="token" value="once"' in page.content.decode()
    assert (CheckoutSession.objects.count(), PaymentIntent.objects.count()) == (0, 0)


def test_a_card_number_is_not_repeated_and_makes_nothing(owner: Client, acme: ApiClient) -> None:
    page = ask(owner, acme, description=GOOD_CARD)

    assert page.status_code == 400
    assert GOOD_CARD not in page.content.decode()
    assert not CheckoutSession.objects.exists()


def test_a_restricted_merchant_is_told_why(owner: Client, acme: ApiClient) -> None:
    acme.merchant.charges_enabled = False
    acme.merchant.save()

    page = ask(owner, acme)

    assert page.status_code == 400
    assert "does not allow this now" in page.content.decode()
    assert not CheckoutSession.objects.exists()


def test_a_payment_that_failed_is_asked_for_again(owner: Client, acme: ApiClient) -> None:
    failed = acme.pay(DECLINED_CARD)["id"]
    email = PaymentIntent.objects.get().billing_details["email"]
    form = read(owner, acme, "ask_again", failed)

    answers = [ask_again(owner, acme, failed) for _ in range(2)]

    made = CheckoutSession.objects.get()
    assert f'value="{email}"' in form
    assert {one.url for one in answers} == {address("payment_page", acme.merchant.id, made.id)}
    assert (made.intent_id, made.made_payment) == (failed, False)
    page = read(owner, acme, "payment", failed)
    for words in (made.id, "A payment page was made.", f"By {EMAIL}.",
                  "It has a payment page that is open."):  # fmt: skip
        assert words in page, words


def test_it_is_asked_for_again_only_while_it_waits_for_a_card_and_has_no_page(
    owner: Client, acme: ApiClient
) -> None:
    paid, asked = acme.pay()["id"], waiting(acme)
    first = over(acme, asked)["id"]

    pages = {one: read(owner, acme, "ask_again", one) for one in (paid, asked)}
    refused = ask_again(owner, acme, asked)

    assert "It does not wait for a card." in pages[paid]
    assert address("payment_page", acme.merchant.id, first) in pages[asked]
    assert "Make the link" not in pages[paid] + pages[asked]
    assert refused.status_code == 400
    assert "The payment page has changed meanwhile" in refused.content.decode()
    assert CheckoutSession.objects.count() == 1


def test_its_end_cancels_the_payment_that_was_made_with_it_once(
    owner: Client, acme: ApiClient
) -> None:
    made = opened(acme).body
    asked = read(owner, acme, "end_payment_page", made["id"])

    answers = [end(owner, acme, made["id"]) for _ in range(2)]

    assert "the payment is canceled" in asked
    assert [one.status_code for one in answers] == [303, 303]
    payment = acme.get(f"/v1/payment_intents/{made['payment_intent']}")
    assert (payment["status"], ends(acme, made["id"])) == ("canceled", ["expired"])
    page = read(owner, acme, "payment_page", made["id"])
    assert "It was ended in the panel or by the API." in page
    assert made["url"] not in page
    assert "checkout.session.expired" in page


def test_its_end_leaves_a_payment_that_was_there(owner: Client, acme: ApiClient) -> None:
    payment = waiting(acme)
    made = over(acme, payment)["id"]
    asked = read(owner, acme, "end_payment_page", made)

    end(owner, acme, made)

    assert "The payment stays" in asked
    assert acme.get(f"/v1/payment_intents/{payment}")["status"] == "requires_payment_method"
    assert "The payment page ended." in read(owner, acme, "payment", payment)


def test_a_payer_who_is_paying_is_not_cut_off(owner: Client, acme: ApiClient) -> None:
    made = opened(acme).body
    form = confirmation(return_url="https://acme.example/back", **three_d_secure("required"))
    acme.post(f"/v1/payment_intents/{made['payment_intent']}/confirm", form)

    asked = read(owner, acme, "end_payment_page", made["id"])
    refused = end(owner, acme, made["id"])

    assert "The payer is paying this moment." in asked
    assert refused.status_code == 400
    assert session(acme, made["id"])["status"] == "open"
    assert not AuditEntry.objects.filter(action="checkout.expired").exists()


def test_one_that_was_paid_says_by_whom_and_is_not_ended(
    owner: Client, acme: ApiClient, bank: BankTransport
) -> None:
    made = opened(acme).body
    acme.post(f"/v1/payment_intents/{made['payment_intent']}/confirm", confirmation())

    page = read(owner, acme, "payment_page", made["id"])

    details = session(acme, made["id"])["customer_details"]
    for words in ("Complete", "Succeeded", details["name"], details["email"]):
        assert words in page, words
    assert address("end_payment_page", acme.merchant.id, made["id"]) not in page
    assert "It has ended already." in read(owner, acme, "end_payment_page", made["id"])


def test_the_list_is_narrowed_as_the_apis(owner: Client, acme: ApiClient) -> None:
    kept = opened(acme, payment_intent_data={"description": "Kept"})
    gone = opened(acme)["id"]
    acme.post(f"/v1/checkout/sessions/{gone}/expire", {})
    url = address("payment_pages", acme.merchant.id)

    every = owner.get(url).content.decode()
    still = owner.get(f"{url}?status[]=open").content.decode()
    of_payment = owner.get(f"{url}?payment_intent={kept['payment_intent']}").content.decode()
    wrong = owner.get(f"{url}?status[]=paid")

    assert kept["id"] in every
    assert gone in every
    for page in (still, of_payment):
        assert kept["id"] in page
        assert gone not in page
    assert "Kept" in still
    assert wrong.status_code == 400
    assert list(wrong.context["form"].errors) == ["status[]"]


def test_a_developer_sees_pages_and_makes_none(acme: ApiClient) -> None:
    developer = signed_in(person("dev@acme.example", (acme.merchant, "developer")))
    made = opened(acme)["id"]

    shown = read(developer, acme, "payment_pages") + read(developer, acme, "payment_page", made)

    assert made in shown
    for page in ("ask_for_payment", "end_payment_page"):
        assert address(page, acme.merchant.id, made) not in shown
    assert ask(developer, acme).status_code == 403
    assert end(developer, acme, made).status_code == 403


def test_the_search_leads_to_a_page_by_its_id(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    mine, theirs = opened(acme)["id"], opened(globex)["id"]
    url = address("search", acme.merchant.id)

    found, foreign = owner.get(url, {"q": mine}), owner.get(url, {"q": theirs})

    assert found.url == address("payment_page", acme.merchant.id, mine)
    assert foreign.status_code == 200
    assert address("payment_page", acme.merchant.id, theirs) not in foreign.content.decode()
