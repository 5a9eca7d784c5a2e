"""Misbehaviour of the simulated bank at its Garanti doors: its answers, its books, its returns."""

import base64
import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core import clock
from core.models import Clock
from testbank import decisions, misbehaviours
from testbank.models import Authorization, Misbehaviour, Reversal
from testbank.states import State
from tests.stage import garanti_shop as shop
from tests.stage import payer
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.garanti_shop import (
    DONE,
    IN_DOUBT,
    is_return_signed,
    is_signed,
    number_of,
    pay,
    refund,
    refused,
    said,
    text,
    void,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

TIMED_OUT = ("SWITCH", "68", "68")


@pytest.fixture(autouse=True)
def _at_noon() -> None:
    begin_at_noon()


def send(**own: Any) -> tuple[int, bytes]:
    return shop.send(shop.written(shop.payment(**own)))


def is_charged() -> bool:
    return Authorization.objects.filter(captured_amount=12500).exists()


# --- The command ------------------------------------------------------------------------------


def test_it_happens_as_often_as_asked_and_then_no_more() -> None:
    call_command("bank", "misbehave", "other_order", "--times", "2")

    orders = [text(pay(OrderID=f"0RDER{number}"), "Order/OrderID") for number in range(3)]

    assert orders == ["0THER0RDER0THER0RDER", "0THER0RDER0THER0RDER", "0RDER2"]
    assert Misbehaviour.objects.get().times_left == 0


def test_it_waits_for_the_request_that_it_fits() -> None:
    call_command("bank", "misbehave", "settled")
    call_command("bank", "misbehave", "other_order", "--on", "orderhistoryinq")
    paid = pay()

    assert said(paid) == DONE
    assert said(void(paid)) == refused("0208")
    told = shop.inquire("orderhistoryinq")
    assert text(told, "Order/OrderID") == "0THER0RDER0THER0RDER"
    assert said(void(paid)) == DONE


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["late", "--on", "sale"], "late is for Auth"),
        (["not_settled", "--on", "void"], "not_settled is for Credit, refund"),
        (["0108", "--on", "Void"], "0108 is for sales"),
        (["wrong_answer_hash", "--on", "Auth"], "wrong_answer_hash is for sales"),
    ],
)
def test_a_misbehaviour_that_is_none_is_refused(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("bank", "misbehave", *arguments)

    assert not Misbehaviour.objects.exists()


# --- Answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["silent", "recorded_late"])
def test_a_silent_bank_has_charged(kind: str) -> None:
    misbehaviours.plan(kind)

    assert send() == (504, b"")
    assert is_charged()


def test_a_bank_may_fall_silent_before_it_does_anything() -> None:
    misbehaviours.plan("silent_before")

    assert send() == (504, b"")
    assert not Authorization.objects.exists()


def test_a_late_answer_is_whole() -> None:
    misbehaviours.plan("late")

    assert said(pay()) == DONE


def test_a_connection_is_cut_within_the_answer() -> None:
    misbehaviours.plan("cut")

    with pytest.raises(ConnectionResetError):
        send()

    assert is_charged()


@pytest.mark.parametrize(
    ("kind", "status", "within"),
    [
        ("empty", 200, b""),
        ("html", 200, b"<html>"),
        ("error_500", 500, b"Approved"),
        ("redirect", 302, b""),
        ("doctype", 200, b"<!DOCTYPE GVPSResponse"),
        ("entities", 200, b"<ErrorMsg>&d;"),
        ("wrong_encoding", 200, b'encoding="UTF-16"'),
        ("wrong_type", 200, b"Approved"),
        ("doubled_element", 200, b"<Code>00</Code><Code>00</Code>"),
        ("too_long", 200, b"Approved"),
    ],
)
def test_an_answer_that_cannot_be_read_has_charged(kind: str, status: int, within: bytes) -> None:
    misbehaviours.plan(kind)

    answered, content = send()

    assert answered == status
    assert within in content
    assert (len(content) > 50_000_000) == (kind == "too_long")
    assert is_charged()
    assert shop.told() == [("sales", "00")]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("contradiction", ("HOST", "51", "51")),
        ("duplicate", refused("0202")),
        ("under_way", IN_DOUBT),
        ("host_timeout", TIMED_OUT),
        ("timeout_reversed", TIMED_OUT),
    ],
)
def test_an_answer_that_is_not_true_has_charged(kind: str, expected: tuple[str, str, str]) -> None:
    misbehaviours.plan(kind)

    told = pay()

    assert said(told) == expected
    is_approved = text(told, "Transaction/Response/Message") == "Approved"
    assert is_approved == (kind == "contradiction")
    assert is_signed(told)
    assert is_charged()


def test_an_answer_may_lack_its_code() -> None:
    misbehaviours.plan("missing_element")

    assert said(pay()) == ("HOST", "", "00")
    assert is_charged()


def test_an_answer_may_be_signed_with_another_key() -> None:
    misbehaviours.plan("wrong_answer_hash")

    told = pay()

    assert said(told) == DONE
    assert not is_signed(told)
    assert is_signed(shop.inquire())


@pytest.mark.parametrize("code", ["0002", "0208", "0651", "9999"])
def test_any_code_of_the_gateway_refuses_and_does_nothing(code: str) -> None:
    misbehaviours.plan(code)

    assert said(pay()) == refused(code)
    assert not Authorization.objects.exists()
    assert said(pay()) == DONE


def test_a_code_of_two_characters_is_the_hosts() -> None:
    misbehaviours.plan("91", on="void")
    paid = pay()

    assert said(void(paid)) == ("HOST", "91", "91")
    assert not Reversal.objects.exists()


# --- Books ------------------------------------------------------------------------------------


def test_a_payment_that_timed_out_is_reversed_when_the_day_ends() -> None:
    misbehaviours.plan("timeout_reversed")
    pay()
    [before] = shop.history()

    end_the_day()

    [after] = shop.history()
    assert (before["VoidDate"], bool(after["VoidDate"])) == ("", True)
    assert Reversal.objects.get().amount == 12500
    assert said(refund(after["RetrefNum"])) == refused("0208")


def test_an_approval_is_reversed_on_demand_once() -> None:
    pay()
    clock.advance(timedelta(days=3))

    decisions.reverse(shop.ORDER_ID)

    [sale] = shop.history()
    assert sale["VoidDate"]
    with pytest.raises(decisions.Undecidable, match="The payment is voided"):
        decisions.reverse(shop.ORDER_ID)


def test_a_refunded_payment_is_not_reversed() -> None:
    misbehaviours.plan("settled")
    refund(pay(), "2500")

    with pytest.raises(decisions.Undecidable, match="refunded or disputed"):
        decisions.reverse(shop.ORDER_ID)

    assert Authorization.objects.get().state == State.AUTHORIZED


def test_a_success_is_missing_from_the_inquiries_for_a_minute() -> None:
    misbehaviours.plan("recorded_late")
    send()

    assert said(shop.inquire()) == refused("0110")
    assert said(shop.inquire("orderhistoryinq")) == refused("0108")
    assert said(void("000000000000")) == refused("0108")
    clock.advance(timedelta(seconds=60))
    assert shop.told() == [("sales", "00")]


def test_a_clock_that_was_set_back_hides_nothing() -> None:
    clock.advance(timedelta(hours=1))
    send()
    Clock.objects.all().delete()
    clock.advance(timedelta(0))

    assert shop.told() == [("sales", "00")]


def test_a_second_payment_passes_while_the_first_is_not_recorded() -> None:
    misbehaviours.plan("recorded_late")
    send()

    assert said(pay()) == DONE
    clock.advance(timedelta(seconds=60))
    assert shop.told() == [("sales", "00"), ("sales", "00")]


def test_a_day_may_be_over_and_not_over() -> None:
    number = number_of(pay())
    misbehaviours.plan("settled", times=2)

    assert said(void(number)) == refused("0208")
    assert said(refund(number, "2500")) == DONE
    end_the_day()
    misbehaviours.plan("not_settled")
    assert said(refund(number, "2500")) == refused("0208")
    assert said(refund(number, "2500")) == DONE


# --- Returns ----------------------------------------------------------------------------------


def walked(kind: str, **own: Any) -> dict[str, str]:
    misbehaviours.plan(kind)
    return shop.walk(**own)


def test_a_return_with_a_wrong_hash() -> None:
    assert not is_return_signed(walked("wrong_hash"))
    assert is_return_signed(shop.walk())


def test_a_return_whose_list_and_hash_are_empty() -> None:
    back = walked("empty_hashparams")

    assert (back["hashparams"], back["hashparamsval"], back["hash"]) == ("", "", "")


@pytest.mark.parametrize("kind", ["short_hashparams", "other_order_of_hashparams"])
def test_a_return_that_is_signed_by_another_list(kind: str) -> None:
    back = walked(kind)

    names = back["hashparams"].split(":")[:-1]
    values = "".join(back[name] for name in names)
    assert back["hashparams"] != shop.HASHPARAMS
    assert back["hash"] == shop.sha512(values, shop.FIRST.store_key)


def test_a_return_with_a_digit_in_the_next_field_has_the_same_hash() -> None:
    back = walked("moved_digit")

    assert is_return_signed(back)
    assert back["oid"] + back["authcode"] == shop.ORDER_ID
    assert len(back["authcode"]) == 1


def test_a_return_with_the_oldest_hash() -> None:
    back = walked("old_hash")

    text = (back["hashparamsval"] + shop.FIRST.store_key).encode()
    digest = hashlib.sha1(text, usedforsecurity=False).digest()
    assert back["hash"] == base64.b64encode(digest).decode()


@pytest.mark.parametrize("kind", ["changed_amount", "national_id", "many_fields", "doubled_name"])
def test_a_return_with_other_fields_is_signed_for_they_are_not(kind: str) -> None:
    back = walked(kind)

    assert is_return_signed(back)
    assert (back["txnamount"] == "1") == (kind == "changed_amount")
    assert ("NATIONALIDNO" in back) == (kind == "national_id")
    assert (len(back) == 65) == (kind == "many_fields")
    assert ("MDSTATUS" in back) == (kind == "doubled_name")


def test_a_return_in_another_encoding_has_the_same_letters() -> None:
    back, other = shop.walk(), walked("turkish_letters")

    assert (back["encoding"], other["encoding"]) == ("UTF-8", "ISO-8859-9")
    assert back["mderrormessage"] == other["mderrormessage"] == "Doğrulandı"


def test_a_return_without_a_status() -> None:
    back = walked("no_md_status")

    assert "mdstatus" not in back
    assert is_return_signed(back)


def test_a_system_error_comes_back_without_a_signature() -> None:
    back = walked("system_error")

    assert back["mdstatus"] == "7"
    assert not {"hash", "hashparams", "hashparamsval"} & set(back)


@pytest.mark.parametrize("kind", ["md_used", "md_too_old"])
def test_a_proof_that_the_bank_does_not_take(kind: str) -> None:
    back = walked(kind)

    assert back["mdstatus"] == "1"
    assert said(shop.proven(back)) == refused("0122")


def test_a_half_secure_payment_is_taken_where_the_contract_allows_it() -> None:
    refused_back = walked("attempted")
    back = walked("attempted", terminal=shop.SECOND)

    assert (refused_back["mdstatus"], back["mdstatus"], back["txnstatus"]) == ("4", "4", "A")
    assert said(shop.proven(refused_back)) == refused("0122")
    assert said(shop.proven(back, terminal=shop.SECOND)) == DONE
    paid = walked("attempted", secure3dsecuritylevel="3D_PAY")
    assert (paid["response"], paid["procreturncode"]) == ("Error", "92")


def test_the_misbehaviour_of_a_return_stays_with_it() -> None:
    misbehaviours.plan("wrong_hash")
    page = shop.enter(shop.form())
    first = payer.press(page, "Approve")

    again = payer.press(page, "Approve")

    assert again.content == first.content
    assert not is_return_signed(again.form.fields)


# --- All of it --------------------------------------------------------------------------------


def test_every_kind_is_played_in_this_file() -> None:
    text_of_this = Path(__file__).read_text(encoding="utf-8")

    own = {*misbehaviours.GARANTI_CHANGES, misbehaviours.GARANTI_RETURN}
    fitting = [kind for kind, requests in misbehaviours.KINDS.items() if own & {*requests}]
    missing = [kind for kind in fitting if f'"{kind}"' not in text_of_this]
    assert len(fitting) > 35
    assert missing == []
