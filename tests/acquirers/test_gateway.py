"""The gateway of the sandbox: what it makes of the bank's answers, and of a bank that fails."""

import copy
import json
import logging
import pickle
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from django.db import connections
from django.utils import timezone

from acquirers import declines, routing
from acquirers.gateway import AuthorizationRequest, IssuerFacts
from acquirers.outcomes import Answer, Outcome
from acquirers.sandbox import cards
from acquirers.three_d_secure import AuthenticationProof
from core import context
from core.cards import CardData
from core.errors import UpstreamUnavailable
from testbank import behaviours
from testbank.handler import open_bank
from testbank.models import Authorization
from tests.stage.bank_transport import BankTransport, an_order, bank_in_process, sandbox
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

APPROVED = "4242424242424242"
SILENT_CHARGED = "4000001100000017"

CARD_TABLE = [
    ("4242424242424242", Answer.APPROVED, None),
    ("5528790000000008", Answer.APPROVED, None),
    ("5526080000000006", Answer.APPROVED, None),
    ("4603450000000000", Answer.APPROVED, None),
    ("9792030000000000", Answer.APPROVED, None),
    ("4111111111111111", Answer.APPROVED, None),
    ("5555555555554444", Answer.APPROVED, None),
    ("5400010000000004", Answer.APPROVED, None),
    ("4000001100000066", Answer.APPROVED, None),
    ("4000001100000074", Answer.APPROVED, None),
    ("4000000000007726", Answer.APPROVED, None),
    ("4000000000005126", Answer.APPROVED, None),
    ("4000000000000259", Answer.APPROVED, None),
    ("4000000000002685", Answer.APPROVED, None),
    ("4000000000001976", Answer.APPROVED, None),
    ("4000000000005423", Answer.APPROVED, None),
    ("4766620000000001", Answer.AUTHENTICATION_REQUIRED, "authentication_required"),
    ("9792020000000001", Answer.AUTHENTICATION_REQUIRED, "authentication_required"),
    ("4000002760003184", Answer.AUTHENTICATION_REQUIRED, "authentication_required"),
    ("4000008400001629", Answer.AUTHENTICATION_REQUIRED, "authentication_required"),
    ("4151111111111112", Answer.AUTHENTICATION_REQUIRED, "authentication_required"),
    ("4131111111111117", Answer.AUTHENTICATION_REQUIRED, "authentication_required"),
    ("4000000000000002", Answer.DECLINED, "generic_decline"),
    ("4000000000009995", Answer.DECLINED, "insufficient_funds"),
    ("4111111111111129", Answer.DECLINED, "insufficient_funds"),
    ("4000000000009987", Answer.DECLINED, "lost_card"),
    ("4000000000009979", Answer.DECLINED, "stolen_card"),
    ("4000000000000069", Answer.DECLINED, "expired_card"),
    ("4000000000000127", Answer.DECLINED, "incorrect_cvc"),
    ("4000000000000119", Answer.DECLINED, "processing_error"),
    ("4129111111111111", Answer.DECLINED, "do_not_honor"),
    ("4100000000000019", Answer.DECLINED, "fraudulent"),
    ("4000001100000017", Answer.UNKNOWN, None),
    ("4000001100000025", Answer.UNKNOWN, None),
    ("4000001100000058", Answer.UNKNOWN, None),
    ("4000001100000033", Answer.PENDING, None),
    ("4000001100000041", Answer.PENDING, None),
]


class Sealed(str):
    """Stands for a sealed card; the vault has tests of its own."""


@pytest.fixture(autouse=True)
def _vault_that_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    def reveal(sealed: Sealed) -> CardData:
        return CardData(number=str(sealed), exp_month=12, exp_year=2034, holder_name="Ada")

    monkeypatch.setattr("vault.reveal.reveal", reveal)


@pytest.fixture
def bank() -> Iterator[BankTransport]:
    with bank_in_process() as transport:
        yield transport


def request(number: str = APPROVED, **changes: Any) -> AuthorizationRequest:
    facts = {"capture": True, "sealed": Sealed(number), "cvc": "737", **changes}
    return AuthorizationRequest(order=an_order(), **facts)


def authorize(number: str = APPROVED) -> Outcome:
    return sandbox().authorize(request(number))


# --- The bank's answers -----------------------------------------------------------------------


@pytest.mark.every_case("each state, and each answer of a bank")
@pytest.mark.parametrize(("number", "answer", "decline_code"), CARD_TABLE)
def test_every_card_of_the_sandbox_ends_as_listed(
    number: str, answer: Answer, decline_code: str | None, bank: BankTransport
) -> None:
    outcome = authorize(number)

    assert outcome.answer is answer
    if decline_code:
        assert declines.explain(outcome).decline_code == decline_code


def test_the_gateway_the_bank_and_this_table_know_the_same_cards() -> None:
    tested = {number for number, _, _ in CARD_TABLE}

    assert tested == cards.NUMBERS == set(behaviours.CARDS)


def test_an_approval_carries_the_banks_references(bank: BankTransport) -> None:
    outcome = authorize()

    booked = Authorization.objects.get(reference="ref_1", merchant="mer_acme", currency="try")
    assert outcome == Outcome(
        answer=Answer.APPROVED,
        response_code="00",
        authorization_code=booked.authorization_code,
        network_reference=booked.network_reference,
        risk_level="normal",
        risk_score=12,
    )


@pytest.mark.parametrize("capture", [True, False])
def test_the_bank_captures_at_once_only_if_asked(capture: bool, bank: BankTransport) -> None:
    sandbox().authorize(request(capture=capture))

    assert Authorization.objects.get().captured_amount == (12500 if capture else 0)


def test_the_same_request_twice_is_one_charge_and_one_outcome(bank: BankTransport) -> None:
    assert authorize() == authorize()
    assert Authorization.objects.count() == 1


# --- What is known of a card ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "facts"),
    [
        ("4242424242424242", IssuerFacts("visa", "credit", "US")),
        ("5528790000000008", IssuerFacts("mastercard", "credit", "TR", "Test Bank C", "paraf")),
        ("9792030000000000", IssuerFacts("troy", "credit", "TR", "Test Bank D", "cardfinans")),
        ("4766620000000001", IssuerFacts("visa", "debit", "TR", "Test Bank A")),
        ("9792020000000001", IssuerFacts("troy", "debit", "TR", "Test Bank D")),
    ],
)
def test_the_gateway_knows_the_issuers_of_its_cards(number: str, facts: IssuerFacts) -> None:
    assert sandbox().built_in_bins[number[:6]] == facts


@pytest.mark.parametrize("number", ["4000056655665556", "4242424242424200"])
def test_a_sandbox_takes_no_number_beside_its_cards(number: str, acme: ApiClient) -> None:
    assert number not in cards.NUMBERS  # The last one begins like one of them.

    refused = acme.pay(number)

    assert refused.refusal[:2] == (400, "card_not_supported")
    assert not SealedCard.objects.exists()


def test_a_live_installation_without_an_acquirer_is_unavailable(settings: Any) -> None:
    settings.ACQUIRERS = {}

    with pytest.raises(UpstreamUnavailable):
        routing.routes_of(MerchantFactory()).require_open("try")


# --- Why a payment failed ---------------------------------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("response_code", "code", "decline_code", "advice_code"),
    [
        ("51", "card_declined", "insufficient_funds", "try_again_later"),
        ("05", "card_declined", "do_not_honor", None),
        ("12", "card_declined", "transaction_not_allowed", "do_not_try_again"),
        ("41", "card_declined", "lost_card", "do_not_try_again"),
        ("43", "card_declined", "stolen_card", "do_not_try_again"),
        ("54", "expired_card", "expired_card", "confirm_card_data"),
        ("82", "incorrect_cvc", "incorrect_cvc", "confirm_card_data"),
        ("84", "incorrect_cvc", "incorrect_cvc", "confirm_card_data"),
        ("57", "card_declined", "card_not_supported", "do_not_try_again"),
        ("58", "card_declined", "service_not_allowed", "do_not_try_again"),
        ("34", "card_declined", "fraudulent", "do_not_try_again"),
        ("93", "card_declined", "restricted_card", "do_not_try_again"),
        ("14", "incorrect_number", "incorrect_number", "confirm_card_data"),
        ("91", "processing_error", "processing_error", "try_again_later"),
        ("96", "processing_error", "processing_error", "try_again_later"),
        ("65", "authentication_required", "authentication_required", None),
        ("06", "card_declined", "generic_decline", None),
        ("ZZ", "card_declined", "generic_decline", None),
    ],
)
def test_a_banks_code_becomes_a_reason_and_an_advice(
    response_code: str, code: str, decline_code: str, advice_code: str | None
) -> None:
    reason = declines.explain(Outcome(Answer.DECLINED, response_code=response_code))

    assert (reason.code, reason.decline_code, reason.advice_code) == (
        code,
        decline_code,
        advice_code,
    )


def test_a_block_for_the_highest_risk_is_a_fraud_block(bank: BankTransport) -> None:
    outcome = authorize("4100000000000019")

    assert (outcome.risk_level, outcome.risk_score) == ("highest", 99)
    assert declines.explain(outcome).code == "fraud_blocked"


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("response_code", ["34", "41", "43", "93"])
def test_a_payer_never_learns_that_the_card_is_known_as_stolen(response_code: str) -> None:
    reason = declines.explain(Outcome(Answer.DECLINED, response_code=response_code))

    plain = declines.explain(Outcome(Answer.DECLINED, response_code="05"))
    assert reason.message == plain.message


def test_a_request_that_was_never_sent_may_be_tried_again_later() -> None:
    reason = declines.explain(Outcome(Answer.NOT_SENT))

    assert (reason.code, reason.advice_code) == ("processing_error", "try_again_later")


# --- A link that fails ------------------------------------------------------------------------


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    ("fault", "answer", "is_booked"),
    [
        ("cut_before", Answer.NOT_SENT, False),
        ("cut_after", Answer.UNKNOWN, True),
        ("delay", Answer.UNKNOWN, True),
        ("garble", Answer.UNKNOWN, True),
    ],
)
def test_a_fault_of_the_link_is_told_apart_by_what_the_bank_may_have_done(
    fault: str, answer: Answer, is_booked: bool, bank: BankTransport
) -> None:
    bank.fault = fault

    assert authorize() == Outcome(answer)
    assert Authorization.objects.exists() is is_booked


def test_an_answer_carries_the_course_of_its_request(bank: BankTransport) -> None:
    before = timezone.now()

    outcome = authorize()

    exchange = outcome.exchange
    assert before <= exchange.sent_at <= timezone.now()
    assert (exchange.seconds > 0, exchange.code) == (True, "00")
    assert sandbox().inquire(an_order()).exchange.code == "00"


@pytest.mark.parametrize(("fault", "has_left"), [("cut_before", False), ("cut_after", True)])
def test_only_a_request_that_left_has_a_time(
    fault: str, has_left: bool, bank: BankTransport
) -> None:
    bank.fault = fault

    assert (authorize().exchange.sent_at is not None) is has_left


def test_a_proof_shows_nothing_and_is_not_written_down() -> None:
    proof = AuthenticationProof({"cavv": "AAABBEg0VhI0VniQEjRWAAAAAAA="})

    assert "AAAB" not in f"{proof!r} {proof} {request(proof=proof)!r}"
    assert dict(proof) == {"cavv": "AAABBEg0VhI0VniQEjRWAAAAAAA="}
    for write in (pickle.dumps, copy.copy, json.dumps):
        with pytest.raises(TypeError):
            write(proof)


def test_a_request_without_budget_is_not_sent(bank: BankTransport) -> None:
    with context.work() as work:
        work.deadline = time.monotonic()
        outcome = authorize()

    assert outcome.answer is Answer.NOT_SENT
    assert bank.seen == []


# --- Answers that tell nothing ----------------------------------------------------------------

GOOD = {
    "reference": "ref_1",
    "result": "approved",
    "response_code": "00",
    "authorization_code": "A1B2C3",
    "network_reference": "net_1",
    "risk": {"level": "normal", "score": 12},
}


def test_a_good_answer_is_understood(bank: BankTransport) -> None:
    bank.fault, bank.garbled = "garble", json.dumps(GOOD).encode()

    assert authorize() == Outcome(Answer.APPROVED, "00", "A1B2C3", "net_1", "normal", 12)


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        "approved",
        {},
        {**GOOD, "reference": "ref_2"},
        {**GOOD, "result": "perhaps"},
        {**GOOD, "result": ["approved"]},
        {**GOOD, "response_code": 0},
        {**GOOD, "risk": None},
        {**GOOD, "risk": {"niveau": "normal", "score": 12}},
        {**GOOD, "risk": {"level": "normal", "score": True}},
        {**GOOD, "risk": {"level": "normal", "score": 101}},
    ],
    ids=lambda told: repr(told)[-40:],
)
def test_an_answer_of_another_form_leaves_the_outcome_unknown(
    told: Any, bank: BankTransport
) -> None:
    bank.fault, bank.garbled = "garble", json.dumps(told).encode()

    assert authorize() == Outcome(Answer.UNKNOWN)


# --- The real bank on a real socket -----------------------------------------------------------


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        pass


@contextmanager
def real_bank() -> Iterator[str]:
    server: WSGIServer = make_server("127.0.0.1", 0, open_bank(), handler_class=_Quiet)

    def answer_once() -> None:
        try:
            server.handle_request()
        finally:
            connections.close_all()

    thread = threading.Thread(target=answer_once)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    thread.join()
    server.server_close()


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_payment_over_a_real_socket_is_approved(settings: Any) -> None:
    with real_bank() as settings.TESTBANK_URL:
        assert authorize().answer is Answer.APPROVED


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_the_requests_own_budget_is_a_limit_too(settings: Any) -> None:
    settings.TESTBANK_SILENCE_SECONDS = 1.0

    with real_bank() as settings.TESTBANK_URL, context.work() as work:
        # By its answer, after a second, it would be known.
        work.deadline = time.monotonic() + 0.4
        assert authorize(SILENT_CHARGED) == Outcome(Answer.UNKNOWN)


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_silent_bank_is_waited_for_until_the_time_out_and_has_charged(settings: Any) -> None:
    settings.ACQUIRER_TIMEOUT_SECONDS, settings.TESTBANK_SILENCE_SECONDS = 0.5, 1.0

    with real_bank() as settings.TESTBANK_URL:
        began = time.monotonic()
        assert authorize(SILENT_CHARGED) == Outcome(Answer.UNKNOWN)
        assert time.monotonic() - began > 0.4

    assert Authorization.objects.get().captured_amount == 12500


# --- Nothing of the card leaks ----------------------------------------------------------------


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("fault", [None, "cut_before", "cut_after", "delay", "garble"])
def test_no_card_data_is_logged_whatever_fails(
    fault: str | None,
    bank: BankTransport,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bank.fault = fault

    with caplog.at_level(logging.DEBUG):
        authorize()

    printed = capsys.readouterr()
    written = caplog.text + printed.out + printed.err
    assert APPROVED not in written
    # Alone: a time's or an id's digits may be any.
    assert not re.search(r"(?<![0-9A-Za-z])737(?![0-9A-Za-z])", written)


def test_a_request_to_authorize_does_not_show_its_card() -> None:
    shown = repr(request())

    assert APPROVED not in shown
    assert "737" not in shown
