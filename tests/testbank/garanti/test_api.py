"""The Garanti API of the simulated bank: payments, captures, voids, refunds, inquiries."""

import re
from datetime import timedelta
from typing import Any

import pytest

from core import clock
from testbank.garanti import hashes
from testbank.models import Authorization, Capture, GarantiLine, Repayment, Reversal
from testbank.states import State
from tests.stage import garanti_shop as shop
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_orders import inquire as look_up
from tests.stage.garanti_shop import (
    DONE,
    FIRST,
    FOUND,
    IN_DOUBT,
    ORDER_ID,
    SECOND,
    capture,
    declined,
    hold,
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

THE_NEXT_DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _at_noon() -> None:
    begin_at_noon()


# --- The hashes -------------------------------------------------------------------------------

SECURITY = "1639636D00AB5EF0B3CE073BB222BFAAC2C2C38D"
REQUEST = (
    "0CFE09F107274C6A07292DA061A4EECAB0F5F0CF87F831F2D3626A3346A94112"
    "6C52D1D95A3B77ADF5AC348B3D25C76BA5D8D98A29557D087D3367BFFACCD25C"
)
ANSWER = (
    "6D6CA65F9420861F942E74BBA8C2DCB367150E28F23447394915D518E01808E3"
    "6AB462C5F2B85B7058447C20CD4FB1FE66B6D7366FE233A762E2D3FC8FD07DC2"
)


def test_the_hashes_of_the_published_vectors() -> None:
    own = hashes.security("123qweASD/", "30691298")

    assert own == SECURITY
    assert hashes.hashed("order222", "30691298", "", "10025", "949", own) == REQUEST
    answer = ("00", "407000985165", "304919", "20240310 14:05:08", "20240310D17E")
    assert hashes.hashed(*answer, own) == ANSWER


@pytest.mark.parametrize("terminal", [FIRST, SECOND], ids=["first", "second"])
def test_every_answer_is_signed_over_its_own_values(terminal: Any) -> None:
    paid = pay(terminal=terminal)
    answers = {
        "sales": [paid, pay(terminal=terminal), pay(terminal=terminal, Amount="0")],
        "void": [void(paid, terminal=terminal), void("000000000000", terminal=terminal)],
        "orderinq": [shop.inquire(terminal=terminal), shop.inquire(terminal=terminal, OrderID="X")],
    }

    assert all(is_signed(one, terminal, kind) for kind, told in answers.items() for one in told)
    assert text(shop.ask(shop.payment(ID="30100299")), "Transaction/HashData") == ""


# --- Payments ---------------------------------------------------------------------------------


def test_a_sale_is_approved_and_stands_in_the_one_book() -> None:
    told = pay()

    [booked] = Authorization.objects.all()
    assert said(told) == DONE
    assert text(told, "Transaction/Response/Message") == "Approved"
    assert text(told, "Order/OrderID") == ORDER_ID
    assert text(told, "Transaction/AuthCode") == booked.authorization_code
    assert re.fullmatch("[0-9]{12}", number_of(told))
    assert re.fullmatch("[0-9]{8} [0-9:]{8}", text(told, "Transaction/ProvDate"))
    assert text(told, "Transaction/CardNumberMasked") == "424242******4242"
    assert (booked.reference, booked.merchant) == (ORDER_ID, FIRST.terminal_id)
    assert (booked.amount, booked.captured_amount, booked.currency) == (12500, 12500, "try")
    assert Capture.objects.get().amount == 12500
    assert look_up(ORDER_ID)["result"] == "approved"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("4000000000009995", declined("51")),
        ("4000000000000119", declined("96")),
        ("4000002760003184", declined("65")),
        ("4100000000000019", declined("34")),
        ("4000056655665556", declined("14")),
        ("4000001100000033", IN_DOUBT),
    ],
)
def test_a_no_comes_with_the_issuers_code(number: str, expected: tuple[str, str, str]) -> None:
    told = pay(number)

    assert said(told) == expected
    assert text(told, "Transaction/Response/Message") != "Approved"
    assert text(told, "Transaction/AuthCode") == ""
    assert not Capture.objects.exists()


def test_a_wrong_security_code_is_told_apart_by_the_systems_words_alone() -> None:
    told = pay("4000000000000127")

    assert said(told) == declined("12")
    assert text(told, "Transaction/Response/SysErrMsg") == "CVC2/4CSC HATALI"
    assert [row["ReturnCode"] for row in shop.history()] == ["12"]


@pytest.mark.parametrize(
    ("number", "state", "status"),
    [
        ("4000001100000017", State.AUTHORIZED, "00"),
        ("4000001100000025", State.DECLINED, "01"),
    ],
)
def test_a_silent_bank_has_written_its_book(number: str, state: State, status: str) -> None:
    assert shop.send(shop.written(shop.payment(number))) == (504, b"")

    assert Authorization.objects.get().state == state
    assert shop.told() == [("sales", status)]


def test_a_bank_that_does_not_know_never_says_more() -> None:
    shop.send(shop.written(shop.payment("4000001100000058")))

    assert said(shop.inquire()) == IN_DOUBT
    clock.advance(THE_NEXT_DAY)
    assert said(shop.inquire("orderhistoryinq")) == IN_DOUBT


@pytest.mark.parametrize(
    ("number", "end"), [("4000001100000033", "00"), ("4000001100000041", "01")]
)
def test_a_pending_payment_is_decided_later(number: str, end: str) -> None:
    pay(number)

    assert said(shop.inquire()) == said(shop.inquire("orderhistoryinq")) == IN_DOUBT
    assert said(pay(number)) == refused("0202")
    clock.advance(timedelta(seconds=5))
    assert shop.told() == [("sales", end)]


def test_an_order_id_is_good_once_whatever_became_of_the_first_payment() -> None:
    pay("4000000000009995")

    assert said(pay()) == refused("0202")
    assert Authorization.objects.get().state == State.DECLINED


def test_a_second_payment_in_the_air_stands_in_the_book_under_the_banks_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = pay()
    # The second has passed this question while the first was not written yet.
    monkeypatch.setattr("testbank.garanti.host.refuse_second", lambda _payment: None)

    second = pay()

    assert said(second) == DONE
    assert Authorization.objects.filter(reference=ORDER_ID).count() == 1
    assert Authorization.objects.filter(captured_amount=12500).count() == 2
    assert said(void(first)) == said(void(second)) == DONE


def test_another_terminal_knows_nothing_of_the_order() -> None:
    pay()

    assert shop.history(terminal=SECOND) == []
    assert said(pay(terminal=SECOND)) == DONE
    assert Authorization.objects.count() == 2


@pytest.mark.parametrize("amount", ["1", "435", "820", "114985", "99999999999999"])
@pytest.mark.parametrize(
    ("numeric", "currency"), [("949", "try"), ("840", "usd"), ("978", "eur"), ("826", "gbp")]
)
def test_an_amount_is_booked_digit_by_digit(amount: str, numeric: str, currency: str) -> None:
    pay(Amount=amount, CurrencyCode=numeric)

    booked = Authorization.objects.get()
    assert (booked.amount, booked.currency) == (int(amount), currency)


def test_installments_are_booked_and_told() -> None:
    pay(InstallmentCnt="6")

    assert Authorization.objects.get().installments == 6
    assert shop.status()["InstallmentCnt"] == "6"


# --- Captures and voids -----------------------------------------------------------------------


def test_a_part_is_captured_once_and_the_rest_released() -> None:
    held = hold()

    taken = capture(held, "10000")

    assert said(taken) == DONE
    assert number_of(taken) != number_of(held)
    assert said(capture(held, "2500")) == refused("0209")
    assert Capture.objects.get().amount == 10000
    assert [(row["Type"], row["AuthAmount"], row["PreAuthAmount"]) for row in shop.history()] == [
        ("preauth", "0", "12500"),
        ("postauth", "10000", "0"),
    ]


def test_a_capture_is_refused_by_what_the_order_lets() -> None:
    assert said(capture("000000000000")) == refused("0108")
    held = hold()
    assert said(capture("000000000000")) == refused("0110")
    assert said(capture(held, "12501")) == declined("13")
    assert said(capture(held, CurrencyCode="840")) == refused("0203")
    void(held)
    assert said(capture(held)) == declined("12")
    assert not Capture.objects.exists()


def test_a_sale_has_nothing_to_capture() -> None:
    assert said(capture(pay())) == refused("0209")


def test_a_pre_authorization_is_too_old_to_capture() -> None:
    held = hold()
    clock.advance(timedelta(days=8))

    assert said(capture(held)) == declined("12")


def test_the_card_that_fails_captures_is_declined() -> None:
    held = hold("4000001100000066")

    assert said(capture(held)) == declined("96")
    assert shop.told() == [("preauth", "00"), ("postauth", "01")]


def test_a_sale_is_voided_on_its_day_and_once() -> None:
    paid = pay()

    assert said(void(paid)) == DONE

    sale, voided = shop.history()
    assert (sale["Status"], voided["Type"], voided["Status"]) == ("00", "void", "00")
    assert re.fullmatch("[0-9]{8}", sale["VoidDate"])
    assert Reversal.objects.get().amount == 12500
    assert said(void(paid)) == refused("0208")


def test_a_void_comes_too_late_on_the_next_day() -> None:
    paid = pay()
    assert [row["Settlement"] for row in shop.history()] == ["N"]
    clock.advance(THE_NEXT_DAY)

    assert said(void(paid)) == refused("0208")
    assert [row["Settlement"] for row in shop.history()] == ["Y"]
    assert not Reversal.objects.exists()


def test_after_a_capture_it_is_the_capture_that_is_voided() -> None:
    held = hold()
    taken = capture(held)

    assert said(void(held)) == refused("0208")
    assert said(void(taken)) == DONE

    assert [bool(row["VoidDate"]) for row in shop.history()] == [False, True, False]
    assert Reversal.objects.get().amount == 12500


def test_a_void_of_nothing_and_one_that_the_card_refuses() -> None:
    assert said(void("000000000000")) == refused("0108")
    paid = pay("4000001100000074")
    assert said(void(paid)) == declined("05")
    assert shop.told() == [("sales", "00"), ("void", "01")]
    assert said(refund(number_of(paid), "1")) == refused("0208")


def test_a_bank_whose_history_has_no_voids_says_when_it_was() -> None:
    void(pay(terminal=SECOND), terminal=SECOND)

    [sale] = shop.history(terminal=SECOND)
    assert sale["VoidDate"]


# --- Refunds ----------------------------------------------------------------------------------


def test_a_refund_waits_for_the_end_of_the_day() -> None:
    assert said(refund(pay(), "2500")) == refused("0208")
    assert shop.told() == [("sales", "00")]
    assert not Repayment.objects.exists()


def test_refunds_have_no_names_and_none_is_a_repetition() -> None:
    paid = pay()
    clock.advance(THE_NEXT_DAY)

    numbers = {number_of(refund(paid, "2500")) for _ in range(2)}

    assert len(numbers) == 2
    assert [(row["Type"], row["Status"], row["AuthAmount"]) for row in shop.history()] == [
        ("sales", "00", "12500"),
        ("refund", "00", "2500"),
        ("refund", "00", "2500"),
    ]
    assert sorted(Repayment.objects.values_list("amount", flat=True)) == [2500, 2500]
    assert said(refund(paid, "7501")) == declined("13")
    assert said(refund(paid, "7500")) == DONE
    assert said(refund(paid, "1")) == declined("13")


def test_a_refund_is_of_captured_money_in_its_currency() -> None:
    assert said(refund("000000000000")) == refused("0108")
    held = hold()
    assert said(refund(held)) == refused("0208")
    taken = capture(held)
    clock.advance(THE_NEXT_DAY)
    assert said(refund(held)) == refused("0208")
    assert said(refund(taken, CurrencyCode="840")) == refused("0203")
    assert said(refund(taken)) == DONE


@pytest.mark.parametrize(
    ("number", "answer", "after"),
    [
        ("4000000000007726", IN_DOUBT, "00"),
        ("4000000000005126", IN_DOUBT, "01"),
        ("4000001100000074", declined("05"), "01"),
    ],
)
def test_cards_whose_refunds_do_not_end_at_once(
    number: str, answer: tuple[str, str, str], after: str
) -> None:
    paid = pay(number)
    clock.advance(THE_NEXT_DAY)

    assert said(refund(paid)) == answer
    assert (said(shop.inquire("orderhistoryinq")) == IN_DOUBT) == (answer == IN_DOUBT)
    clock.advance(timedelta(seconds=5))
    assert shop.told() == [("sales", "00"), ("refund", after)]


# --- Inquiries --------------------------------------------------------------------------------


def test_an_unknown_order_is_told_as_a_refusal() -> None:
    told = shop.inquire()

    assert said(told) == refused("0110")
    assert {one.text or "" for one in told.iterfind("Order/OrderInqResult/*")} == {"", "0"}
    assert said(shop.inquire("orderhistoryinq")) == refused("0108")


def test_an_inquiry_has_the_payment_in_its_result_alone() -> None:
    paid = pay()

    told = shop.inquire()

    assert said(told) == FOUND
    assert (number_of(told), text(told, "Transaction/AuthCode")) == ("", "")
    found = shop.status()
    assert (found["Status"], found["Code"], found["ChargeType"]) == ("APPROVED", "00", "S")
    assert (found["AuthAmount"], found["PreAuthAmount"]) == ("12500", "0")
    assert found["RetrefNum"] == number_of(paid)
    assert found["AuthCode"] == text(paid, "Transaction/AuthCode")
    assert (found["InstallmentCnt"], found["PreAuthDate"]) == ("", "")


def test_another_terminals_inquiry_repeats_the_sale_outside() -> None:
    paid = pay(terminal=SECOND)

    told = shop.inquire(terminal=SECOND)

    assert (said(told), number_of(told)) == (FOUND, number_of(paid))


def test_an_inquiry_tells_a_hold_from_its_capture() -> None:
    held = hold()
    waiting = shop.status()
    taken = capture(held, "10000")
    done = shop.status()

    assert (waiting["Status"], waiting["RetrefNum"]) == ("WAITINGPOSTAUTH", number_of(held))
    assert (waiting["AuthAmount"], waiting["PreAuthAmount"]) == ("0", "12500")
    assert (done["Status"], done["RetrefNum"]) == ("APPROVED", number_of(taken))
    assert (done["AuthAmount"], done["PreAuthAmount"]) == ("10000", "12500")


def test_an_inquiry_tells_a_decline_by_its_code() -> None:
    pay("4000000000009995")

    found = shop.status()

    assert (found["Status"], found["Code"], found["AuthCode"]) == ("DECLINED", "51", "")


def test_an_inquiry_hides_voids_and_refunds() -> None:
    void(pay())

    assert shop.status()["Status"] == "APPROVED"


# --- The list ---------------------------------------------------------------------------------


def _today() -> tuple[str, str]:
    day = f"{clock.now():%d/%m/%Y}"
    return f"{day} 00:00", f"{day} 23:59"


def _rows(answered: Any) -> list[tuple[str, ...]]:
    names = ("OrderID", "Type", "Status", "InstallmentCnt", "CurrencyCode")
    found = answered.iterfind("Order/OrderListInqResult/OrderTxnList/OrderTxn")
    return [tuple(text(row, name) for name in names) for row in found]


def test_the_list_has_a_days_transactions_the_newest_first() -> None:
    void(pay(OrderID="0RDER1"), OrderID="0RDER1")
    pay("4000000000009995", OrderID="0RDER2", CurrencyCode="840")
    capture(hold(OrderID="0RDER3", InstallmentCnt="3"), OrderID="0RDER3")
    pay("4000001100000033", OrderID="0RDER4")

    told = shop.listed(*_today())

    assert said(told) == FOUND
    assert _rows(told) == [
        ("0RDER3", "On Otorizasyon Kapama", "Basarili", "3", "TL"),
        ("0RDER3", "On Otorizasyon", "Onaylandi", "3", "TL"),
        ("0RDER2", "Satis", "Basarisiz", "Pesin", "USD"),
        ("0RDER1", "Iptal", "Basarili", "Pesin", "TL"),
        ("0RDER1", "Satis", "Iptal", "Pesin", "TL"),
    ]


def test_the_list_comes_in_pages_and_of_its_days_alone() -> None:
    begin, end = _today()
    for number in range(51):
        pay(OrderID=f"0RDER{number}")

    pages = [shop.listed(begin, end, page) for page in (1, 2, 3)]

    assert [len(_rows(page)) for page in pages] == [50, 1, 0]
    counts = "Order/OrderListInqResult/OrderTxnList/"
    assert text(pages[0], f"{counts}TotalTxnCount") == "51"
    assert text(pages[0], f"{counts}TotalPageCount") == "2"
    assert _rows(shop.listed(begin, begin)) == []
    assert _rows(shop.listed(begin, end, terminal=SECOND)) == []


# --- Its cost ---------------------------------------------------------------------------------


def test_a_payment_asks_the_database_little(django_assert_max_num_queries: Any) -> None:
    pay(OrderID="0RDER1")

    # Is anything planned, is the order new, payment, capture, line; and the savepoint of a test.
    with django_assert_max_num_queries(7, using="bank"):
        assert said(pay()) == DONE
    assert GarantiLine.objects.count() == 2
