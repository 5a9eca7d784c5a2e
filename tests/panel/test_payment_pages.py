"""One payment in the panel: understood from its page alone, and acted on once."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from merchants.models import AuditEntry
from panel.merchants.payment_acts import WORDS
from panel.merchants.payment_forms import CaptureForm
from payments.intents.models import Modification, PaymentIntent
from payments.refunds.models import Refund
from tests.stage.client import ApiClient
from tests.stage.complaints import Complaint
from tests.stage.factories import DECLINED_CARD, GOOD_CARD, SILENT_CARD, PaymentFactory
from tests.stage.notifier import Notifier
from tests.stage.panel_forms import looked, sent_whole
from tests.stage.teams import person, signed_in

pytestmark = [
    pytest.mark.usefixtures("bank"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

# Blocking and asking by link have tests of their own.
ACTS = [act for act in WORDS if act not in ("block_payer", "ask_again")]
SENT: dict[str, dict[str, str]] = {
    "capture_payment": {"amount": "1.00"},
    "cancel_payment": {"cancellation_reason": "duplicate"},
    "refund_payment": {"amount": "1.00", "reason": "duplicate"},
    "note_payment": {"note": "They called"},
}
POSSIBLE = {
    "requires_payment_method": {"cancel_payment"},
    "requires_capture": {"capture_payment", "cancel_payment"},
    "succeeded": {"refund_payment"},
    "canceled": set(),
}


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(acme: ApiClient, payment_id: str, act: str = "") -> str:
    path = f"/panel/{acme.merchant.id}/payments/{payment_id}"
    return f"{path}/{act.removesuffix('_payment')}" if act else path


def paid(acme: ApiClient, status: str = "succeeded") -> str:
    """Make a payment that comes to this status; return its id."""
    number = DECLINED_CARD if status == "requires_payment_method" else GOOD_CARD
    method = "manual" if status in ("requires_capture", "canceled") else "automatic"
    made = acme.pay(number, capture_method=method).body
    if status == "canceled":
        acme.post(f"/v1/payment_intents/{made['id']}/cancel")
    return str(made["id"])


def send(client: Client, url: str, token: str = "t", **fields: str) -> Any:
    return sent_whole(client, url, {"token": token, **fields})


def test_a_declined_payment_says_why_and_what_helps(owner: Client, acme: ApiClient) -> None:
    declined = acme.pay("4000000000009995", description="Order 7").body

    page = owner.get(at(acme, declined["id"])).content.decode()

    for words in (
        "Why it failed",
        "There is not enough money or limit on the card.",
        "Ask for another card, or try again later.",
        "insufficient_funds", "51", "•••• 9995", "Order 7", "ayse@example.com",
        "Nothing was charged. Another card may be tried.",
        "The card •••• 9995 was tried for ₺125.00.",
        "An attempt to pay failed; another card may be tried.",
        "POST /v1/payment_intents",
    ):  # fmt: skip
        assert words in page, words


def test_a_silent_bank_is_told_of_and_the_page_asks_again_without_keeping_the_session(
    owner: Client, acme: ApiClient
) -> None:
    silent = acme.pay(SILENT_CARD).body["id"]

    page = owner.get(at(acme, silent)).content.decode()
    poll = owner.get(at(acme, silent) + "/now")

    assert "Do not charge again." in page
    assert "The bank is asked again:" in page
    assert f'hx-get="{at(acme, silent)}/now"' in page
    assert 'hx-trigger="every 3s"' in poll.content.decode()
    assert "<html" not in poll.content.decode()
    assert poll.wsgi_request.is_poll
    assert "hx-trigger" not in owner.get(at(acme, paid(acme))).content.decode()


@pytest.mark.parametrize("status", POSSIBLE)
def test_a_payment_in_each_status_with_each_act(
    owner: Client, acme: ApiClient, status: str
) -> None:
    payment_id = paid(acme, status)
    before = acme.payment(payment_id).body
    page = owner.get(at(acme, payment_id)).content.decode()

    for act in ACTS:
        is_possible = act in POSSIBLE[status] | {"note_payment"}
        assert (f'href="{at(acme, payment_id, act)}"' in page) is is_possible, act
        if not is_possible:
            asked = owner.get(at(acme, payment_id, act))
            refused = send(owner, at(acme, payment_id, act), act, **SENT[act])
            assert (asked.status_code, refused.status_code) == (200, 400), act
            assert "Not possible now" in refused.content.decode(), act
    assert acme.payment(payment_id).body == before
    assert AuditEntry.objects.filter(action__startswith="payment.").count() == 0


def test_a_part_is_captured_once_by_name(owner: Client, acme: ApiClient) -> None:
    payment_id = paid(acme, "requires_capture")
    url = at(acme, payment_id, "capture_payment")

    fields = looked(owner, url, {"token": "t", "amount": "100.00"})
    first, again = (owner.post(url, fields) for _ in range(2))
    other = send(owner, url, amount="1.00")
    page = owner.get(at(acme, payment_id)).content.decode()

    assert [first.status_code, again.status_code, other.status_code] == [303, 303, 409]
    assert first.url == again.url == at(acme, payment_id)
    assert acme.payment(payment_id)["captured_minor"] == 10000
    assert Modification.objects.count() == 1
    entry = AuditEntry.objects.get(action="payment.captured")
    assert (entry.subject, entry.after) == (payment_id, {"amount": 10000})
    assert "By ada@acme.example." in page


def test_a_payment_is_canceled_with_its_reason(owner: Client, acme: ApiClient) -> None:
    payment_id = paid(acme, "requires_capture")

    sent = send(owner, at(acme, payment_id, "cancel_payment"), cancellation_reason="duplicate")

    assert sent.status_code == 303
    assert acme.payment(payment_id)["cancellation_reason"] == "duplicate"
    assert AuditEntry.objects.get(action="payment.canceled").subject == payment_id


@pytest.mark.parametrize("sent", [{}, {"cancellation_reason": ""}])
def test_a_payment_is_canceled_without_a_reason(
    owner: Client, acme: ApiClient, sent: dict[str, str]
) -> None:
    payment_id = paid(acme, "requires_capture")

    assert send(owner, at(acme, payment_id, "cancel_payment"), **sent).status_code == 303

    canceled = acme.payment(payment_id)
    assert (canceled["status"], canceled["cancellation_reason"]) == ("canceled", None)


def test_a_refund_is_made_once_and_told_of(owner: Client, acme: ApiClient) -> None:
    payment_id = paid(acme)
    url = at(acme, payment_id, "refund_payment")
    asked = owner.get(url).content.decode()

    fields = looked(owner, url, {"token": "t", "amount": "40.00", "reason": "duplicate"})
    for _ in range(2):
        assert owner.post(url, fields).status_code == 303
    listed = owner.get(f"/panel/{acme.merchant.id}/refunds").content.decode()
    page = owner.get(at(acme, payment_id)).content.decode()

    refund = Refund.objects.get()
    assert (refund.amount, refund.reason) == (4000, "duplicate")
    assert AuditEntry.objects.get(action="refund.created").subject == refund.id
    assert "All that is left: ₺125.00" in asked
    assert refund.id in listed
    assert "Refund of ₺40.00" in page
    assert "Partly refunded" in page


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    "amount", ["1,25", "1.250,00", "1e3", "-1", "٣", "1" * 13, "1.005", "0", "", "125.01", "x"]
)
@pytest.mark.parametrize("act", ["capture_payment", "refund_payment"])
def test_an_amount_that_is_none_moves_nothing(
    owner: Client, acme: ApiClient, act: str, amount: str
) -> None:
    payment_id = paid(acme, "requires_capture" if act == "capture_payment" else "succeeded")

    page = send(owner, at(acme, payment_id, act), amount=amount)

    assert page.status_code == 400
    assert list(page.context["form"].errors) == ["amount"]
    assert not Refund.objects.exists()
    assert not Modification.objects.exists()


@pytest.mark.parametrize(
    ("language", "currency", "text", "minor"),
    [
        ("en", "try", "1,250.50", 125050), ("tr", "try", "1.250,50", 125050),
        ("en", "jpy", "1,250", 1250), ("en", "jpy", "1.5", None),
        ("en", "kwd", "1.250", 1250), ("en", "kwd", "1.2505", None), ("tr", "try", "1.25", None),
    ],
)  # fmt: skip
def test_amounts_are_read_in_the_notation_of_the_page(
    language: str, currency: str, text: str, minor: int | None
) -> None:
    with translation.override(language):
        form = CaptureForm({"amount": text}, PaymentIntent(currency=currency), most=1)
        form.is_valid()

    assert form.cleaned_data.get("amount") == minor


def test_a_card_number_in_a_form_does_nothing_and_is_not_repeated(
    owner: Client, acme: ApiClient
) -> None:
    payment_id = paid(acme, "requires_capture")
    fields = {"note": GOOD_CARD, "cancellation_reason": GOOD_CARD, "amount": GOOD_CARD}

    for act in ACTS:
        page = send(owner, at(acme, payment_id, act), act, **fields)
        assert page.status_code == 400, act
        assert GOOD_CARD not in page.content.decode(), act
    assert acme.payment(payment_id)["status"] == "requires_capture"
    assert not AuditEntry.objects.filter(action__startswith="payment.").exists()


def test_a_note_is_kept_once_and_shown_as_text(owner: Client, acme: ApiClient) -> None:
    payment_id, text = paid(acme), '<script>x</script>"><img onerror=x> çağrı'

    for _ in range(2):
        assert send(owner, at(acme, payment_id, "note_payment"), note=text).status_code == 303
    too_long = send(owner, at(acme, payment_id, "note_payment"), "u", note="x" * 501)
    page = owner.get(at(acme, payment_id)).content.decode()

    assert too_long.status_code == 400
    assert AuditEntry.objects.get(action="payment.noted").after["note"] == text
    assert "Note by ada@acme.example" in page
    assert "<script>x" not in page
    assert "<img onerror" not in page


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("stranger", ["foreign", "unknown", "malformed"])
def test_a_payment_that_is_not_mine_is_as_unknown_as_any(
    owner: Client, acme: ApiClient, globex: ApiClient, stranger: str
) -> None:
    payment_id = {"foreign": paid(globex), "unknown": "pi_1", "malformed": "%00x"}[stranger]

    for act in ("", *ACTS):
        assert owner.get(at(acme, payment_id, act)).status_code == 404, act
        if act:
            assert send(owner, at(acme, payment_id, act), **SENT[act]).status_code == 404
    assert not Refund.objects.exists()


def test_the_timeline_names_who_refunded_and_folds_what_developers_need(
    owner: Client, acme: ApiClient
) -> None:
    payment_id = paid(acme)
    send(owner, at(acme, payment_id, "refund_payment"), amount="40.00")
    acme.refund(payment_id, amount=100)
    finance = signed_in(person("fin@acme.example", (acme.merchant, "finance")))

    page = owner.get(at(acme, payment_id)).content.decode()

    people, _summary, developers = page.partition("For developers: requests and events")
    assert people.count("Refunded by ada@acme.example in the panel.") == 1
    for technical in ("payment_intent.succeeded", "POST /v1/payment_intents"):
        assert technical in developers
        assert technical not in people.partition('id="timeline"')[2]
    assert "For developers" not in finance.get(at(acme, payment_id)).content.decode()


def test_finance_sees_what_happened_and_no_requests(acme: ApiClient) -> None:
    finance = signed_in(person("fin@acme.example", (acme.merchant, "finance")))
    developer = signed_in(person("dev@acme.example", (acme.merchant, "developer")))
    payment_id = paid(acme)

    seen = finance.get(at(acme, payment_id)).content.decode()

    assert "was tried for" in seen
    assert "request_logs" not in seen
    assert "evt_" not in seen
    assert (
        at(acme, payment_id, "refund_payment")
        not in developer.get(at(acme, payment_id)).content.decode()
    )
    assert send(developer, at(acme, payment_id, "refund_payment")).status_code == 403


def test_a_form_without_its_csrf_token_is_refused(acme: ApiClient) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Accept": "text/html"})
    client.force_login(person("ada@acme.example", (acme.merchant, "owner")))
    payment_id = paid(acme)

    for act in ACTS:
        assert send(client, at(acme, payment_id, act), **SENT[act]).status_code == 403


def test_an_api_key_leaves_no_audit_row(acme: ApiClient) -> None:
    payment_id = paid(acme, "requires_capture")
    acme.post(f"/v1/payment_intents/{payment_id}/capture")
    acme.refund(payment_id)

    assert not AuditEntry.objects.filter(action__regex="^(payment|refund)").exists()


def test_a_status_that_the_panel_does_not_know_is_grey_with_its_name(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = PaymentFactory(merchant=acme.merchant)
    PaymentIntent.objects.filter(pk=row.pk).update(description="x")
    monkeypatch.setattr("panel.statuses.BADGES", {})

    page = owner.get(at(acme, row.id)).content.decode()

    assert re.search(r"bg-secondary-lt.*succeeded", page)


def test_a_dispute_that_ended_is_named_once_in_the_timeline(
    owner: Client, acme: ApiClient, notifier: Notifier
) -> None:
    complaint = Complaint(acme, notifier).opened().lost()

    page = owner.get(at(acme, complaint.payment_id)).content.decode()

    named = re.findall(r' id="([^"]+)"', page)
    assert "The dispute ended." in page
    assert [name for name in named if named.count(name) > 1] == []
