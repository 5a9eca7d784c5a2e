"""Misbehaviour of the simulated bank on demand: its answers, its books, its returns."""

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
from tests.stage import nestpay_shop as shop
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.nestpay_shop import (
    DONE,
    FIRST,
    SECOND,
    history,
    is_signed,
    pay,
    proven,
    refund,
    refused,
    said,
    void,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

TIMED_OUT = ("Declined", "92", "ISO8583-92")


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

    orders = [pay(OrderId=f"0RDER{number}")["OrderId"] for number in range(3)]

    assert orders == ["0THER0RDER0THER0RDER", "0THER0RDER0THER0RDER", "0RDER2"]
    assert Misbehaviour.objects.get().times_left == 0


def test_it_waits_for_the_request_that_it_fits() -> None:
    call_command("bank", "misbehave", "settled")
    call_command("bank", "misbehave", "other_order", "--on", "ORDERHISTORY")

    assert said(pay()) == DONE
    assert said(void()) == refused("CORE-2008")
    assert shop.inquire()["OrderId"] == "0THER0RDER0THER0RDER"
    assert said(void()) == DONE


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no_such_kind"], "The kinds are late, silent"),
        (["late", "--times", "0"], "1 to 1000 times"),
        (["late", "--on", "Sale"], "late is for Auth"),
        (["not_settled", "--on", "Void"], "not_settled is for Credit"),
        (["wrong_hash", "--on", "Auth"], "wrong_hash is for return"),
    ],
)
def test_a_misbehaviour_that_is_none_is_refused(arguments: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("bank", "misbehave", *arguments)

    assert not Misbehaviour.objects.exists()


def test_a_live_installation_has_no_bank_that_misbehaves(settings: Any) -> None:
    settings.LIVEMODE = True

    with pytest.raises(CommandError, match="live"):
        call_command("bank", "misbehave", "late")


def test_the_bank_behaves_again_when_it_is_told_to() -> None:
    misbehaviours.plan("error_500", times=5)

    misbehaviours.behave()

    assert said(pay()) == DONE


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
        ("doctype", 200, b"<!DOCTYPE"),
        ("entities", 200, b"<ErrMsg>&d;"),
        ("wrong_encoding", 200, b'encoding="UTF-8"'),
        ("wrong_type", 200, b"Approved"),
        ("doubled_element", 200, b"<ProcReturnCode>00</ProcReturnCode><ProcReturnCode>"),
        ("too_long", 200, b"Approved"),
    ],
)
def test_an_answer_that_cannot_be_read_has_charged(kind: str, status: int, within: bytes) -> None:
    misbehaviours.plan(kind)

    answered, content = send()

    assert answered == status
    assert within in content
    assert (len(content) > 50_000_000) == (kind == "too_long")
    if kind == "wrong_encoding":
        with pytest.raises(UnicodeDecodeError):
            content.decode()
    assert is_charged()
    assert [line["status"] for line in history()] == ["C"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("contradiction", ("Approved", "51", "ISO8583-51")),
        ("duplicate", refused("CORE-2507")),
        ("under_way", refused("CORE-2304")),
        ("host_timeout", TIMED_OUT),
        ("timeout_reversed", TIMED_OUT),
    ],
)
def test_an_answer_that_is_not_true_has_charged(kind: str, expected: tuple[str, str, str]) -> None:
    misbehaviours.plan(kind)

    assert said(pay()) == expected
    assert is_charged()


def test_an_answer_may_lack_its_code() -> None:
    misbehaviours.plan("missing_element")

    assert "ProcReturnCode" not in pay()
    assert is_charged()


@pytest.mark.parametrize("code", ["CORE-2254", "CORE-2304", "CORE-9999", "BM-9101"])
def test_any_code_of_the_bank_refuses_and_does_nothing(code: str) -> None:
    misbehaviours.plan(code)

    assert said(pay()) == refused(code)
    assert not Authorization.objects.exists()
    assert said(pay()) == DONE


def test_a_code_of_two_characters_is_a_decline() -> None:
    misbehaviours.plan("91", on="Void")
    pay()

    assert said(void()) == ("Declined", "91", "ISO8583-91")
    assert not Reversal.objects.exists()


# --- Books ------------------------------------------------------------------------------------


def test_a_payment_that_timed_out_is_reversed_when_the_day_ends() -> None:
    misbehaviours.plan("timeout_reversed")
    pay()
    assert [line["status"] for line in history()] == ["C"]

    end_the_day()

    assert [line["status"] for line in history()] == ["V"]
    assert Reversal.objects.get().amount == 12500
    clock.advance(timedelta(days=1))
    assert said(refund()) == refused("CORE-2504")


def test_an_approval_is_reversed_on_demand_once() -> None:
    pay()
    clock.advance(timedelta(days=3))

    decisions.reverse(shop.ORDER_ID)

    assert [line["status"] for line in history()] == ["V"]
    with pytest.raises(decisions.Undecidable, match="The payment is voided"):
        decisions.reverse(shop.ORDER_ID)


def test_a_refunded_payment_is_not_reversed() -> None:
    misbehaviours.plan("settled")
    pay()
    refund("25.00")

    with pytest.raises(decisions.Undecidable, match="refunded or disputed"):
        decisions.reverse(shop.ORDER_ID)

    assert Authorization.objects.get().state == State.AUTHORIZED


def test_a_success_is_missing_from_the_history_for_a_minute() -> None:
    misbehaviours.plan("recorded_late")
    send()

    assert history() == []
    assert said(void()) == refused("CORE-2008")
    clock.advance(timedelta(seconds=60))
    assert [line["status"] for line in history()] == ["C"]


def test_a_clock_that_was_set_back_hides_nothing() -> None:
    clock.advance(timedelta(hours=1))
    send()
    Clock.objects.all().delete()
    clock.advance(timedelta(0))

    assert [line["status"] for line in history()] == ["C"]


def test_a_second_payment_passes_while_the_first_is_not_recorded() -> None:
    misbehaviours.plan("recorded_late")
    send()

    assert said(pay()) == DONE
    clock.advance(timedelta(seconds=60))
    assert [line["status"] for line in history()] == ["C", "C"]


def test_a_day_may_be_over_and_not_over() -> None:
    pay()
    misbehaviours.plan("settled", times=2)

    assert said(void()) == refused("CORE-2008")
    assert said(refund("25.00")) == DONE
    end_the_day()
    misbehaviours.plan("not_settled")
    assert said(refund("25.00")) == refused("CORE-2508")
    assert said(refund("25.00")) == DONE


# --- Returns ----------------------------------------------------------------------------------


def walked(kind: str, **own: Any) -> dict[str, str]:
    misbehaviours.plan(kind)
    return shop.walk(**own)


def test_a_return_with_a_wrong_hash() -> None:
    assert not is_signed(walked("wrong_hash"))
    assert is_signed(shop.walk())


def test_a_return_with_an_empty_hash() -> None:
    back = walked("empty_hashparams")

    assert (back["HASHPARAMS"], back["HASH"]) == ("", "")


def test_a_return_with_the_oldest_hash() -> None:
    back = walked("old_hash")

    names = back["HASHPARAMS"].split(":")[:-1]
    values = "".join(back[name] for name in names)
    digest = hashlib.sha1((values + FIRST.store_key).encode(), usedforsecurity=False).digest()
    assert back["HASH"] == base64.b64encode(digest).decode()
    assert back["hashAlgorithm"] == "ver1"


def test_a_return_with_a_changed_amount_is_signed() -> None:
    back = walked("changed_amount")

    assert is_signed(back)
    assert back["amount"] == "1.00"


@pytest.mark.parametrize(("kind", "encoding"), [("", "UTF-8"), ("turkish_letters", "ISO-8859-9")])
def test_a_return_is_signed_over_the_bytes_of_its_encoding(kind: str, encoding: str) -> None:
    back = walked(kind) if kind else shop.walk()

    assert back["encoding"] == encoding
    assert back["EXTRA_CARDISSUER"] == "ZİRAAT BANKASI"
    for one in ("utf-8", "iso-8859-9"):
        is_right = back["HASH"] == shop.hashed(back, FIRST.store_key, one)
        assert is_right == (one == encoding.lower())


def test_a_return_with_a_national_id_that_is_not_signed() -> None:
    back = walked("national_id")

    assert back.pop("NATIONALIDNO")
    assert is_signed(back)


@pytest.mark.parametrize("kind", ["no_md_status", "doubled_name", "many_fields"])
def test_a_return_with_other_fields_is_signed(kind: str) -> None:
    back = walked(kind)

    assert is_signed(back)
    assert ("mdStatus" in back) == (kind != "no_md_status")
    assert ("MDSTATUS" in back) == (kind == "doubled_name")
    assert (len(back) == 65) == (kind == "many_fields")


@pytest.mark.parametrize(("kind", "code"), [("md_used", "CORE-2127"), ("md_too_old", "CORE-2121")])
def test_a_proof_that_the_bank_does_not_take(kind: str, code: str) -> None:
    back = walked(kind)

    assert back["mdStatus"] == "1"
    assert said(proven(back)) == refused(code)


def test_a_half_secure_payment_is_taken_where_the_contract_allows_it() -> None:
    refused_back = walked("attempted")
    back = walked("attempted", terminal=SECOND)

    assert (refused_back["mdStatus"], back["mdStatus"], back["txstatus"]) == ("4", "4", "A")
    assert said(proven(refused_back)) == refused("CORE-2206")
    assert said(proven(back, terminal=SECOND)) == DONE
    paid = walked("attempted", storetype="3d_pay")
    assert paid["EXTRA_ERRORCODE"] == "CORE-2206"


def test_the_misbehaviour_of_a_return_stays_with_it() -> None:
    misbehaviours.plan("wrong_hash")
    page = shop.enter(shop.form())
    first = shop.payer.press(page, "Approve")

    again = shop.payer.press(page, "Approve")

    assert again.content == first.content
    assert not is_signed(again.form.fields)


# --- All of it --------------------------------------------------------------------------------


def test_every_kind_is_played_in_this_file() -> None:
    text = Path(__file__).read_text(encoding="utf-8")

    own = {*misbehaviours.NESTPAY_CHANGES, misbehaviours.RETURN}
    fitting = [kind for kind, requests in misbehaviours.KINDS.items() if own & {*requests}]
    missing = [kind for kind in fitting if f'"{kind}"' not in text]
    assert len(fitting) > 30
    assert missing == []
