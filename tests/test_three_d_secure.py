"""3-D Secure: the payer goes to the bank and comes back, whatever else happens."""

from typing import Any
from unittest.mock import patch

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from payments import authentication
from payments.models import Attempt, PaymentIntent
from testbank.models import Authorization
from tests.bank_transport import BankTransport
from tests.books import captured_by_bank
from tests.client import Answer, ApiClient
from tests.factories import DEBIT_CARD, GOOD_CARD, RETURN_URL, confirmation, payment, three_d_secure
from tests.sweeper import sweep_after
from tests.threeds import authenticate, bring, challenged, decide, hand_off, open_page

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
SOFT_YES, SOFT_NO = "4000002760003184", "4000008400001629"
CANNOT_START, ALWAYS_FAILS = "4151111111111112", "4131111111111117"
AMOUNTS = {
    "amount_charged", "surcharge", "amount_received", "amount_capturable", "captured_minor",
    "refunded_minor", "amount_refundable", "card",
}  # fmt: skip


def told(client: ApiClient, payment_id: str) -> list[str]:
    return [event["type"].removeprefix("payment_intent.") for event in client.events_of(payment_id)]


def shown(client: ApiClient, paid: Answer) -> Answer:
    return client.payment(paid["id"])


# --- On the way -------------------------------------------------------------------------------


def test_a_payment_that_needs_the_payer_says_where_to_send_them(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)

    action = paid["next_action"]
    assert action["type"] == "redirect_to_url"
    assert action["redirect_to_url"]["return_url"] == RETURN_URL
    assert action["redirect_to_url"]["url"].startswith("http://127.0.0.1:8000/3ds/att_")
    assert paid["three_d_secure"] == {"requested": "required", "effective": "required"}
    assert AMOUNTS & paid.body.keys() == set()
    assert (paid["amount"], paid["currency"]) == (12500, "try")
    assert told(acme, paid["id"]) == ["created", "requires_action"]


def test_our_page_shows_what_is_paid_and_leads_to_the_bank(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)

    page = hand_off(paid)

    assert page.status == 200
    for fact in ("Acme Store", "125.00 TRY", "4242"):
        assert fact in page.text
    assert GOOD_CARD not in page.content.decode()
    assert page.form.method == "post"
    assert "/acs/" in page.form.action
    assert page.form.buttons
    assert page.headers["Cache-Control"].count("no-store") == 1
    assert "sessionid" not in str(page.headers)


def test_our_page_may_be_opened_again_until_the_payment_is_through(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    assert hand_off(paid).form.action == hand_off(paid).form.action

    authenticate(paid)

    page = hand_off(paid)
    assert (page.status, page.forms) == (200, [])
    assert any(RETURN_URL in asset for asset in page.assets)


@pytest.mark.parametrize("change", ["x", "", ".", "1", "/", "%00"])
def test_a_link_that_is_not_ours_shows_nothing(
    change: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    url = paid["next_action"]["redirect_to_url"]["url"].partition("8000")[2]

    for wrong in (url[:-1] + change, url.replace("att_", "att_x", 1), "/3ds/", "/3ds/a.b"):
        if wrong != url:
            assert open_page(wrong).status == 404
    assert len(url.rpartition(".")[2]) >= 32  # 128 bits in hexadecimal


# --- And back ---------------------------------------------------------------------------------


def test_approved_the_payer_is_charged_and_sent_back(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    arrival = authenticate(paid)

    assert (arrival.status, arrival.location) == (302, f"{RETURN_URL}?payment_intent={paid['id']}")
    done = shown(acme, paid)
    assert (done["status"], done["amount_charged"], done["next_action"]) == (
        "succeeded",
        12500,
        None,
    )
    assert captured_by_bank(acme) == acme.pending() == 12500
    assert told(acme, paid["id"]) == ["created", "requires_action", "succeeded"]


def test_the_attempt_shows_how_the_authentication_went(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    authenticate(paid)

    attempt = acme.get(f"{PATH}/{paid['id']}?expand[]=latest_attempt")["latest_attempt"]

    secure = attempt["three_d_secure"]
    assert (secure["flow"], secure["result"], secure["eci"]) == ("challenge", "authenticated", "05")
    assert secure["version"].startswith("2.")
    assert secure["transaction_id"]
    assert "cavv" not in str(attempt)


@pytest.mark.parametrize("button", ["Reject", "Cancel"])
def test_refused_the_payer_may_try_another_card(
    button: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)

    arrival = authenticate(paid, button)

    assert (arrival.status, arrival.location) == (302, f"{RETURN_URL}?payment_intent={paid['id']}")
    failed = shown(acme, paid)
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["reason"] == "authentication_failed"
    assert Authorization.objects.count() == 0
    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(**three_d_secure("none")))
    assert answer["status"] == "succeeded"


def test_a_silent_bank_leaves_the_payment_processing(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    arrival = authenticate(paid, "Don't answer")

    assert arrival.status == 302
    assert shown(acme, paid)["status"] == "processing"
    sweep_after(10)
    failed = shown(acme, paid)
    assert failed["last_payment_error"]["decline_code"] == "do_not_honor"
    assert told(acme, paid["id"]) == ["created", "requires_action", "processing", "payment_failed"]


def test_authenticated_and_declined_all_the_same(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme, "4000000000009995")

    authenticate(paid)

    assert shown(acme, paid)["last_payment_error"]["reason"] == "insufficient_funds"


def test_manual_capture_waits_for_the_capture(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme, capture_method="manual")

    authenticate(paid)

    assert shown(acme, paid)["amount_capturable"] == 12500
    assert told(acme, paid["id"])[-1] == "amount_capturable_updated"
    assert captured_by_bank(acme) == 0


def test_what_was_absent_and_is_there_again_is_told(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    authenticate(paid)

    _created, action, succeeded = acme.events_of(paid["id"])

    assert set(action["data"]["previous_attributes"]) >= AMOUNTS - {"amount_charged"}
    before = succeeded["data"]["previous_attributes"]
    assert (before["status"], before["amount_charged"], before["card"]) == (
        "requires_action", None, None,
    )  # fmt: skip
    assert before["next_action"] == paid["next_action"]
    assert {e["request_id"] for e in acme.events_of(paid["id"])} == {paid.headers["Request-Id"]}


# --- Who has to ------------------------------------------------------------------------------


def test_a_soft_decline_is_followed_by_an_attempt_with_3d_secure(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.pay(SOFT_YES, return_url=RETURN_URL)

    assert (paid["status"], len(paid["attempts"])) == ("requires_action", 2)
    assert paid["latest_attempt"] == paid["attempts"][1]
    assert paid["three_d_secure"] == {"requested": "automatic", "effective": "required"}
    assert told(acme, paid["id"]) == ["created", "requires_action"]
    authenticate(paid)
    assert shown(acme, paid)["status"] == "succeeded"
    first, second = Attempt.objects.order_by("created_at")
    assert (first.status, second.status) == ("failed", "succeeded")


def test_a_soft_decline_after_authentication_is_final(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(SOFT_NO, return_url=RETURN_URL)

    authenticate(paid)

    assert shown(acme, paid)["status"] == "requires_payment_method"
    assert len(shown(acme, paid)["attempts"]) == 2


def test_none_is_overruled_by_the_issuer(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(SOFT_YES, return_url=RETURN_URL, **three_d_secure("none"))

    assert paid["status"] == "requires_action"


def test_a_bank_that_cannot_begin_fails_the_payment(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(CANNOT_START, return_url=RETURN_URL, **three_d_secure("required"))

    assert (paid["status"], paid["next_action"]) == ("requires_payment_method", None)
    assert paid["last_payment_error"]["reason"] == "authentication_failed"
    assert Authorization.objects.count() == 0


def test_a_card_may_fail_whatever_the_payer_does(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme, ALWAYS_FAILS)

    authenticate(paid, "Approve")

    assert shown(acme, paid)["last_payment_error"]["reason"] == "authentication_failed"


@pytest.mark.parametrize("fault", ["cut_before", "lost", "cut_after", "delay", "garble"])
def test_a_bank_that_is_away_cannot_begin(fault: str, acme: ApiClient, bank: BankTransport) -> None:
    bank.fault = fault

    paid = acme.pay(DEBIT_CARD, return_url=RETURN_URL)

    assert paid["last_payment_error"]["reason"] == "authentication_failed"
    assert Authorization.objects.count() == 0


@pytest.mark.parametrize(
    ("md_status", "eci", "cavv", "number", "result"),
    [
        ("1", "05", "proof", GOOD_CARD, True),
        ("1", "05", "", DEBIT_CARD, True),
        ("2", "06", "proof", GOOD_CARD, True),
        ("3", "01", "proof", GOOD_CARD, True),
        ("4", "06", "proof", GOOD_CARD, True),
        ("4", "06", "", GOOD_CARD, False),
        ("4", "07", "proof", GOOD_CARD, False),
        ("4", "06", "proof", DEBIT_CARD, False),
        ("0", "05", "proof", GOOD_CARD, False),
        ("5", "06", "proof", GOOD_CARD, False),
        ("", "05", "proof", GOOD_CARD, False),
    ],
)
def test_only_full_authentication_or_an_attempt_with_proof_is_enough(
    md_status: str, eci: str, cavv: str, number: str, result: bool,
    acme: ApiClient, bank: BankTransport,
) -> None:  # fmt: skip
    challenged(acme, number)
    said = authentication.Authentication("ref", "3ds", 12500, "try", md_status, eci, cavv)

    assert authentication.is_enough(Attempt.objects.get(), said) is result


# --- Answers that are not the bank's, or not awaited ------------------------------------------


def assert_untouched(client: ApiClient, paid: Answer) -> None:
    assert shown(client, paid).body == paid.body
    assert told(client, paid["id"]) == ["created", "requires_action"]
    assert Authorization.objects.count() == 0


@pytest.mark.parametrize(
    "name",
    ["transaction_id", "reference", "amount", "currency", "md_status", "eci", "cavv", "issued_at",
     "signature"],
)  # fmt: skip
@pytest.mark.parametrize("change", ["other", "longer", "empty", "gone", "twice"])
def test_an_answer_that_was_changed_is_refused(
    name: str, change: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields: dict[str, Any] = dict(decide(paid, "Approve").fields)
    value = fields.pop(name)
    changed = {
        "other": {name: "1" if value != "1" else "2"},
        "longer": {name: f"{value}0"},
        "empty": {name: ""},
        "gone": {},
        "twice": {name: [value, value]},
    }[change]

    arrival = bring({**fields, **changed})

    assert (arrival.status, arrival.location) == (400, None)
    assert_untouched(acme, paid)


def test_a_field_more_is_refused(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields

    assert bring({**fields, "more": "1"}).status == 400
    assert bring({**fields, **{f"f{n}": "" for n in range(900)}}).status == 400
    assert_untouched(acme, paid)


def test_an_answer_is_used_once(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    first = bring(fields)

    second = bring(fields)

    assert (second.status, second.location) == (first.status, first.location)
    assert Authorization.objects.count() == 1
    assert told(acme, paid["id"]) == ["created", "requires_action", "succeeded"]


def test_a_cheap_payments_answer_does_not_pay_a_dear_one(
    acme: ApiClient, bank: BankTransport
) -> None:
    cheap, dear = challenged(acme, amount=100), challenged(acme, amount=99_900)
    fields = decide(cheap, "Approve").fields
    dears = Attempt.objects.get(intent_id=dear["id"])

    swapped = bring({**fields, "reference": dears.acquirer_reference, "amount": "99900"})

    assert swapped.status == 400
    assert shown(acme, dear).body == dear.body
    assert shown(acme, cheap).body == cheap.body


def test_an_answer_signed_for_another_amount_is_refused(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    with_another_amount(paid)

    assert bring(fields).status == 400


def with_another_amount(paid: Answer) -> None:
    """As if the bank had been asked for another payment under this reference."""
    attempt = Attempt.objects.get(intent_id=paid["id"])
    attempt.authentication |= {"transaction_id": "3ds_other"}
    attempt.save()


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data"])
def test_what_is_no_form_is_refused(
    content_type: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)

    arrival = bring(b"\xff\x00{", content_type=content_type)

    assert arrival.status == 400
    assert_untouched(acme, paid)


def test_an_upload_is_refused_before_it_is_read(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    upload = encode_multipart(BOUNDARY, {**fields, "more": ContentFile(b"x" * 3_000_000, "f")})

    with patch.object(TemporaryFileUploadHandler, "new_file") as spooling:
        for sent in (encode_multipart(BOUNDARY, fields), upload):
            assert bring(sent, content_type=MULTIPART_CONTENT).status == 400

    assert not spooling.called
    assert_untouched(acme, paid)


def test_a_get_changes_nothing(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    query = "&".join(f"{name}={value}" for name, value in fields.items())

    assert open_page(f"/3ds/return?{query}").status == 405
    assert_untouched(acme, paid)


def test_an_answer_that_comes_too_late_changes_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields
    sweep_after(3700)
    assert shown(acme, paid)["last_payment_error"]["reason"] == "authentication_abandoned"

    arrival = bring(fields)

    assert (arrival.status, arrival.location) == (302, f"{RETURN_URL}?payment_intent={paid['id']}")
    assert shown(acme, paid)["status"] == "requires_payment_method"
    assert Authorization.objects.count() == 0


# --- The way back -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("return_url", "arrives_at"),
    [
        ("https://acme.example/r", "https://acme.example/r?payment_intent={id}"),
        ("https://acme.example/r?a=1&b=%20x", "https://acme.example/r?a=1&b=%20x&payment_intent={id}"),
        ("https://acme.example/r?payment_intent=pi_1&a", "https://acme.example/r?a&payment_intent={id}"),
        ("https://acme.example/r#top", "https://acme.example/r?payment_intent={id}#top"),
        ("https://acme.example/r?a=1#x?y", "https://acme.example/r?a=1&payment_intent={id}#x?y"),
        ("https://acme.example", "https://acme.example?payment_intent={id}"),
    ],
)  # fmt: skip
def test_the_shops_address_stays_as_it_is_but_for_the_payments_id(
    return_url: str, arrives_at: str, acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme, return_url=return_url)

    assert authenticate(paid).location == arrives_at.replace("{id}", paid["id"])


# --- Payers who do not come back --------------------------------------------------------------


def test_after_an_hour_the_payer_has_abandoned_it(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    sweep_after(3500)
    assert shown(acme, paid)["status"] == "requires_action"
    sweep_after(200)

    failed = shown(acme, paid)
    assert failed["status"] == "requires_payment_method"
    assert failed["last_payment_error"]["reason"] == "authentication_abandoned"
    assert Attempt.objects.get().status == "abandoned"
    assert told(acme, paid["id"]) == ["created", "requires_action", "payment_failed"]
    assert "/authorizations/" in bank.seen[-1]


def test_authenticated_and_never_back_authorises_nothing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    decide(paid, "Approve")

    sweep_after(3700)

    assert shown(acme, paid)["last_payment_error"]["reason"] == "authentication_abandoned"
    assert Authorization.objects.count() == 0


def test_a_bank_that_is_away_keeps_the_payment_waiting(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    bank.fault = "delay"
    sweep_after(3700)
    assert shown(acme, paid)["status"] == "requires_action"

    bank.fault = None
    sweep_after(3700)
    assert shown(acme, paid)["status"] == "requires_payment_method"


# --- Confirming again -------------------------------------------------------------------------


def test_another_card_may_be_tried_while_the_payer_is_away(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    fields = decide(paid, "Approve").fields

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(**three_d_secure("none")))

    assert answer["status"] == "succeeded"
    first, second = Attempt.objects.order_by("created_at")
    assert (first.status, second.status) == ("canceled", "succeeded")
    assert answer["attempts"] == [first.id, second.id]
    assert bring(fields).status == 302
    assert captured_by_bank(acme) == acme.pending() == 12500


def test_the_payer_may_be_sent_to_the_bank_once_more(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(return_url=RETURN_URL))

    assert answer["status"] == "requires_action"
    assert answer["next_action"] != paid["next_action"]
    assert told(acme, paid["id"]) == ["created", "requires_action", "requires_action"]
    authenticate(answer)
    assert shown(acme, paid)["status"] == "succeeded"


def test_without_a_card_the_code_is_asked_for_again(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme)

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", {})

    assert answer.refusal == (400, "parameter_missing", "payment_method_data[card][cvc]")
    assert shown(acme, paid).body == paid.body


def test_a_bank_that_does_not_answer_makes_the_payment_processing(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    bank.fault = "delay"

    answer = acme.post(f"{PATH}/{paid['id']}/confirm", confirmation(), idempotency_key="again")

    assert answer["status"] == "processing"
    assert Attempt.objects.count() == 1


# --- Limits -----------------------------------------------------------------------------------


def limit(client: ApiClient, **values: Any) -> None:
    client.merchant.non_secure_limits.filter(currency="try").update(**values)


def test_above_the_limit_the_payer_must_authenticate(acme: ApiClient, bank: BankTransport) -> None:
    assert acme.pay(amount=500_000)["status"] == "succeeded"

    above = acme.pay(amount=500_001, return_url=RETURN_URL)

    assert above["status"] == "requires_action"


def test_above_the_limit_without_a_way_back_is_refused(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(amount=500_001)

    assert answer.refusal == (400, "parameter_missing", "return_url")
    assert PaymentIntent.objects.count() == 0


def test_none_above_the_limit_is_refused(acme: ApiClient, bank: BankTransport) -> None:
    body = payment(amount=500_001, return_url=RETURN_URL, **three_d_secure("none"))

    answer = acme.post(PATH, body, idempotency_key="k")

    assert answer.refusal[:2] == (400, "non_secure_not_allowed")
    assert PaymentIntent.objects.count() == 0
    assert acme.post(PATH, {**body, "amount": 100}, idempotency_key="k").status == 200


def test_a_currency_without_a_limit_allows_none(acme: ApiClient, bank: BankTransport) -> None:
    acme.merchant.non_secure_limits.filter(currency="usd").delete()

    assert acme.pay(currency="usd", return_url=RETURN_URL)["status"] == "requires_action"


def test_an_account_that_may_not_at_all(acme: ApiClient, bank: BankTransport) -> None:
    type(acme.merchant).objects.update(non_secure_allowed=False)

    assert acme.pay(return_url=RETURN_URL)["status"] == "requires_action"
    assert acme.pay(**three_d_secure("none")).error["code"] == "non_secure_not_allowed"


def test_a_limit_per_day_counts_what_was_taken_today(acme: ApiClient, bank: BankTransport) -> None:
    limit(acme, per_day=30_000)
    acme.pay()
    acme.pay("4000000000000002")  # Declined: it took nothing.
    acme.pay()

    assert acme.pay(return_url=RETURN_URL)["status"] == "requires_action"
    sweep_after(86_400)
    assert acme.pay()["status"] == "succeeded"
