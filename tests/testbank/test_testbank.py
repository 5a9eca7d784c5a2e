"""The simulated bank: its book, its answers and its silence."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connections
from django.test import Client
from django.urls import get_urlconf, reverse

from testbank import behaviours, handler
from testbank.models import Authorization, Capture
from testbank.states import State
from tests.stage.bank_orders import ask, order

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def test_an_approval_with_capture_is_written_whole() -> None:
    status, told = ask(order())

    booked = Authorization.objects.get()
    assert status == 200
    assert told == {
        "reference": "ref_1",
        "result": "approved",
        "response_code": "00",
        "authorization_code": booked.authorization_code,
        "network_reference": booked.network_reference,
        "risk": {"level": "normal", "score": 12},
    }
    assert (booked.state, booked.captured_amount) == (State.AUTHORIZED, 12500)
    assert booked.captures.get().amount == 12500


def test_an_approval_without_capture_takes_no_money_yet() -> None:
    ask(order(capture=False))

    assert Authorization.objects.get().captured_amount == 0
    assert not Capture.objects.exists()


def test_a_decline_takes_no_money_and_has_no_authorization_code() -> None:
    _, told = ask(order("4000000000009995"))

    assert (told["result"], told["response_code"]) == ("declined", "51")
    assert told["authorization_code"] is None
    assert not Capture.objects.exists()


def test_a_card_the_bank_never_issued_is_an_incorrect_number() -> None:
    _, told = ask(order("4000056655665556"))

    assert (told["result"], told["response_code"]) == ("declined", "14")


def test_a_reference_asked_again_gets_the_stored_outcome() -> None:
    first = ask(order())

    again = ask(order("4000000000009995", amount=99))

    assert again == first
    assert Authorization.objects.get().amount == Capture.objects.get().amount == 12500


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_twenty_requests_at_once_with_one_reference_charge_once() -> None:
    def ask_from_a_thread(_: int) -> tuple[int, Any]:
        try:
            return ask(order())
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(ask_from_a_thread, range(20)))

    assert answers == [answers[0]] * 20
    assert answers[0][0] == 200
    assert Authorization.objects.count() == Capture.objects.count() == 1


@pytest.mark.parametrize(
    ("number", "state", "captured"),
    [
        ("4000001100000017", State.AUTHORIZED, 12500),
        ("4000001100000025", State.DECLINED, 0),
        ("4000001100000058", State.PENDING, 0),
    ],
)
def test_silence_ends_empty_after_the_book_is_written(
    number: str, state: State, captured: int
) -> None:
    assert ask(order(number)) == (504, None)
    assert ask(order(number)) == (504, None)

    booked = Authorization.objects.get()
    assert (booked.state, booked.captured_amount) == (state, captured)
    assert not booked.answered


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_the_book_is_committed_before_the_bank_falls_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bool] = []

    def look(_seconds: float) -> None:
        with ThreadPoolExecutor(1) as other:
            seen.append(other.submit(_booked_as_others_see_it).result())

    monkeypatch.setattr("testbank.silence.time.sleep", look)
    ask(order("4000001100000017"))

    assert seen == [True]


def _booked_as_others_see_it() -> bool:
    try:
        return Authorization.objects.exists()
    finally:
        connections.close_all()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        {},
        order(card=None),
        order(card={"number": "4242424242424242"}),
        order(number="4242"),
        order(number="4242 4242 4242 4242"),
        order(reference=""),
        order(reference="4242424242424242"),
        order(merchant="mer\x00"),
        order(amount=0),
        order(amount=True),
        order(amount="12500"),
        order(amount=10**30),
        order(currency="TRY"),
        order(capture="yes"),
    ],
    ids=lambda sent: repr(sent)[:20],
)
def test_a_malformed_request_is_refused_and_not_booked(sent: Any) -> None:
    status, told = ask(sent)

    assert status == 400
    assert "4242" not in told["error"]
    assert not Authorization.objects.exists()


@pytest.mark.parametrize(("field", "value"), [("exp_month", 13), ("exp_year", "34"), ("cvc", "12")])
def test_the_cards_other_data_must_be_there_in_form(field: str, value: Any) -> None:
    sent = order()
    sent["card"][field] = value

    assert ask(sent) == (400, {"error": f"{field} is missing or " + _form_of(field)})


def _form_of(field: str) -> str:
    return "malformed" if field == "cvc" else "out of range"


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("number", [*behaviours.CARDS, "4000056655665556"])
def test_no_card_number_is_booked_or_logged(number: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ask(order(number))

    booked = Authorization.objects.values().get()
    assert number not in str(booked)
    assert number not in caplog.text


def test_the_database_refuses_a_card_number_in_the_book() -> None:
    ask(order())

    with pytest.raises(IntegrityError, match="bank_keeps_no_card_number"):
        Authorization.objects.update(merchant="4242424242424242")


def test_the_database_refuses_to_capture_more_than_was_authorized() -> None:
    ask(order())

    with pytest.raises(IntegrityError, match="bank_captures_at_most_what_it_authorized"):
        Authorization.objects.update(captured_amount=12501)


def test_the_database_refuses_to_capture_what_was_declined() -> None:
    ask(order("4000000000000002"))

    with pytest.raises(IntegrityError, match="bank_captures_only_what_it_authorized"):
        Authorization.objects.update(captured_amount=1)


def test_the_bank_says_that_it_is_there() -> None:
    assert ask(b"", "/healthz", "GET") == (200, {"status": "ok"})


def test_the_bank_has_no_other_doors() -> None:
    assert ask(b"", "/v1/payment_intents", "GET")[0] == 404
    assert ask(b"", "/admin/", "GET")[0] == 404
    assert ask(b"", "/authorizations", "GET") == (405, {"error": "method not allowed"})


def test_a_body_that_is_too_long_is_refused_unread(settings: Any) -> None:
    sent = order(holder="x" * settings.BODY_MAX_BYTES)

    assert ask(sent) == (413, {"error": "too long"})
    assert not Authorization.objects.exists()


@pytest.mark.parametrize("door", ["", "/capture", "/void"])
@pytest.mark.parametrize("reference", ["%00", "%ff", "a%20b", "x" * 65, "'--"])
def test_a_reference_that_nobody_can_have_chosen_is_unknown(reference: str, door: str) -> None:
    method = "POST" if door else "GET"

    status, told = ask({"amount": 1}, f"/authorizations/{reference}{door}", method)

    assert (status, told["result"]) == (200, "refused" if door else "no_record")


def test_a_statement_behind_a_garbled_reference_is_refused() -> None:
    assert ask(b"", "/statement?after=%00", "GET")[0] == 400


def test_the_service_does_not_serve_the_banks_addresses(client: Client) -> None:
    ask(b"", "/healthz", "GET")

    assert client.post("/authorizations").status_code == 404
    assert get_urlconf() is None
    assert reverse("admin:index") == "/admin/"


def test_a_failing_bank_answers_500_and_names_only_the_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_order: Any) -> None:
        raise RuntimeError("4242424242424242")

    monkeypatch.setattr("testbank.views.book.authorize", fail)

    assert ask(order()) == (500, {"error": "the bank failed"})
    printed = capsys.readouterr()
    assert "4242424242424242" not in printed.out + printed.err


def test_a_live_installation_has_no_test_bank(settings: Any) -> None:
    settings.LIVEMODE = True

    with pytest.raises(ImproperlyConfigured, match="this one is live"):
        handler.open_bank()


def test_operators_can_read_the_book_and_not_write_it(admin_client: Client) -> None:
    ask(order())

    page = admin_client.get("/admin/testbank/authorization/")

    assert page.status_code == 200
    assert b"ref_1" in page.content
    for model in ("authorization", "authentication"):
        assert admin_client.get(f"/admin/testbank/{model}/").status_code == 200
        assert admin_client.get(f"/admin/testbank/{model}/add/").status_code == 403
