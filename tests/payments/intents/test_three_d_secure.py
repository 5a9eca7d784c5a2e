"""3-D Secure: the payer goes to the bank and comes back, whatever else happens."""

import pytest

from acquirers.three_d_secure import Authenticated, AuthenticationProof
from payments.intents.models import Attempt
from payments.payer import returns
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import DEBIT_CARD, GOOD_CARD, RETURN_URL, confirmation, three_d_secure
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import authenticate, challenged, hand_off, open_page, shown

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

PATH = "/v1/payment_intents"
SOFT_YES, SOFT_NO = "4000002760003184", "4000008400001629"
CANNOT_START, ALWAYS_FAILS = "4151111111111112", "4131111111111117"
AMOUNTS = {
    "amount_charged", "surcharge", "amount_received", "amount_capturable", "captured_minor",
    "refunded_minor", "amount_refundable", "card",
}  # fmt: skip


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
    assert acme.told(paid["id"]) == ["created", "requires_action"]


@pytest.mark.at_the_sandbox("our page leads to the payer's form first")
def test_our_page_shows_what_is_paid_and_leads_to_the_bank(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)

    page = hand_off(paid)

    assert page.status == 200
    for fact in ("Acme Store", "₺125.00", "4242"):
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
    assert acme.told(paid["id"]) == ["created", "requires_action", "succeeded"]


@pytest.mark.not_at_garanti("its return does not sign the number of the authentication")
def test_the_attempt_shows_how_the_authentication_went(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = challenged(acme)
    authenticate(paid)

    attempt = acme.get(f"{PATH}/{paid['id']}?expand[]=latest_attempt")["latest_attempt"]

    secure = attempt["three_d_secure"]
    assert (secure["flow"], secure["result"], secure["eci"]) == ("challenge", "authenticated", "05")
    assert secure["version"].startswith("2")
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
    assert len(bank_books.orders()) == 0
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
    assert acme.told(paid["id"]) == ["created", "requires_action", "processing", "payment_failed"]


def test_authenticated_and_declined_all_the_same(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme, "4000000000009995")

    authenticate(paid)

    assert shown(acme, paid)["last_payment_error"]["reason"] == "insufficient_funds"


def test_manual_capture_waits_for_the_capture(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme, capture_method="manual")

    authenticate(paid)

    assert shown(acme, paid)["amount_capturable"] == 12500
    assert acme.told(paid["id"])[-1] == "amount_capturable_updated"
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
    assert acme.told(paid["id"]) == ["created", "requires_action"]
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


@pytest.mark.at_the_sandbox("no call begins at other banks")
def test_a_bank_that_cannot_begin_fails_the_payment(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay(CANNOT_START, return_url=RETURN_URL, **three_d_secure("required"))

    assert (paid["status"], paid["next_action"]) == ("requires_payment_method", None)
    assert paid["last_payment_error"]["reason"] == "authentication_failed"
    assert len(bank_books.orders()) == 0


def test_a_card_may_fail_whatever_the_payer_does(acme: ApiClient, bank: BankTransport) -> None:
    paid = challenged(acme, ALWAYS_FAILS)

    authenticate(paid, "Approve")

    assert shown(acme, paid)["last_payment_error"]["reason"] == "authentication_failed"


@pytest.mark.parametrize("fault", ["cut_before", "lost", "cut_after", "delay", "garble"])
@pytest.mark.at_the_sandbox("no call begins at other banks")
def test_a_bank_that_is_away_cannot_begin(fault: str, acme: ApiClient, bank: BankTransport) -> None:
    bank.fault = fault

    paid = acme.pay(DEBIT_CARD, return_url=RETURN_URL)

    assert paid["last_payment_error"]["reason"] == "authentication_failed"
    assert len(bank_books.orders()) == 0


@pytest.mark.every_case("the states of money and of banks' answers")
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
    said = Authenticated(md_status, eci, AuthenticationProof({"cavv": cavv}), has_proof=bool(cavv))

    assert returns.is_enough(Attempt.objects.get(), said) is result


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
