"""The old bank of the tests: it checks what it is sent, forgets nothing, and repeats nothing."""

from typing import Any

import pytest

from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.shop import PAYMENT, message, send, tell
from tests.stage.oldbank.terminals import FIRST, SECOND
from tests.stage.threads import together

CAPTURE = {"Amount": "125.00", "Currency": "949"}


def without(name: str) -> dict[str, str]:
    sent = message("Sale")
    del sent[name]
    return sent


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (message("Sale", Password="another"), "E-2001"),
        (message("Sale", User=SECOND.user), "E-2001"),
        (message("Sale", Terminal="79999999"), "E-2001"),
        (message("Sale", OrderId="ref_0RDER0RDER0RDER"), "E-1003"),
        (message("Sale", Amount="125"), "E-1004"),
        (message("Sale", Amount="125,00"), "E-1004"),
        (message("Sale", Amount="0125.00"), "E-1004"),
        (message("Sale", Currency="TRY"), "E-1005"),
        (message("Sale", Pan="4242 4242"), "E-1006"),
        (message("Sale", Expiry="2034"), "E-1007"),
        (message("Sale", Merchant=""), "E-1008"),
        (message("Sale", Installment="1"), "E-1009"),
        (message("Sale", Cvc=""), "E-1010"),
        (without("Cvc"), "E-1002"),
        (without("Amount"), "E-1002"),
        (message("Sale", Email="ada@acme.example"), "E-1002"),
        (dict(reversed(message("Sale").items())), "E-1002"),
        (message("Refund"), "E-1002"),
    ],
)
def test_a_message_of_another_form_is_refused_before_the_host(
    sent: dict[str, str], code: str, old_bank: OldBank
) -> None:
    told = tell(old_bank, sent)

    assert (told["Result"], told["Code"]) == ("Error", code)
    assert old_bank.book() == []


@pytest.mark.parametrize("document", ["", "<BankRequest>", "<Other/>", "<!DOCTYPE a><a/>"])
def test_what_is_no_message_is_refused(document: str, old_bank: OldBank) -> None:
    assert b"E-1001" in send(old_bank, document)


def test_an_order_that_has_succeeded_is_refused_and_one_that_was_declined_is_not(
    old_bank: OldBank,
) -> None:
    declined = tell(old_bank, message("Sale", Pan="4000000000009995"))
    first, second = (tell(old_bank, message("Sale")) for _ in range(2))

    assert (declined["Result"], declined["Code"]) == ("Declined", "51")
    assert (first["Result"], second["Code"]) == ("Approved", "E-3001")


def test_two_that_are_in_the_air_both_charge(old_bank: OldBank) -> None:
    old_bank.take_time(works_seconds=0.3)

    together([lambda: tell(old_bank, message("Sale"))] * 2)

    assert [(line.kind, line.state) for line in old_bank.book()] == [("S", "A")] * 2


def test_no_record_comes_as_a_decline(old_bank: OldBank) -> None:
    for kind, more in (("History", {}), ("Status", {}), ("Void", {}), ("Capture", CAPTURE)):
        told = tell(old_bank, message(kind, **more))
        assert (told["Result"], told["Code"], told["Reason"]) == ("Declined", "05", "E-2400")


def test_another_terminal_knows_nothing_of_an_order(old_bank: OldBank) -> None:
    tell(old_bank, message("PreAuth"))

    assert tell(old_bank, message("Void", SECOND))["Reason"] == "E-2400"
    assert tell(old_bank, message("Void", FIRST))["Result"] == "Approved"


def test_the_plain_inquiry_hides_the_payment_and_the_history_does_not(old_bank: OldBank) -> None:
    tell(old_bank, message("PreAuth"))
    tell(old_bank, message("Capture", Amount="50.00", Currency="949"))

    last, all_of_it = (tell(old_bank, message(kind)) for kind in ("Status", "History"))

    assert (last["Kind"], last["Minor"]) == ("C", "5000")
    assert [line[:3] for line in all_of_it["Tx"].split()] == ["C|A", "P|A"]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (message("Void"), "E-3202"),
        (message("Void", TransId="0A0A0A0A0A"), "E-3203"),
        (message("Capture", **CAPTURE), "E-3101"),
    ],
)
def test_after_a_capture_a_void_names_it_and_no_other_capture_follows(
    sent: dict[str, str], code: str, old_bank: OldBank
) -> None:
    tell(old_bank, message("PreAuth"))
    number = tell(old_bank, message("Capture", **CAPTURE))["TransId"]

    assert tell(old_bank, sent)["Code"] == code
    assert tell(old_bank, message("Void", TransId=number))["Result"] == "Approved"
    assert tell(old_bank, message("Void", TransId=number))["Code"] == "E-3201"


def test_a_bank_that_is_killed_forgets_nothing(old_bank: OldBank) -> None:
    tell(old_bank, message("Sale"))
    before = old_bank.book()

    old_bank.kill()
    old_bank.start()

    assert old_bank.book() == before
    assert len(before) == 1


def test_the_book_keeps_no_card_number(old_bank: OldBank) -> None:
    tell(old_bank, message("Sale"))

    kept = b"".join(file.read_bytes() for file in old_bank.directory.iterdir())

    assert FIRST.terminal.encode() in kept
    assert PAYMENT["Pan"].encode() not in kept


def test_an_answer_that_is_reversed_later_is_a_charge_until_then(old_bank: OldBank) -> None:
    old_bank.misbehave("timeout_reversed")
    told = tell(old_bank, message("Sale"))

    def lines() -> list[str]:
        return [line[:3] for line in tell(old_bank, message("History"))["Tx"].split()]

    assert (told["Result"], told["Code"], lines()) == ("Declined", "92", ["S|A"])
    old_bank.move_clock(61)
    assert lines() == ["V|A", "S|A"]


def test_the_bank_ends_with_the_tests_that_started_it(tmp_path: Any) -> None:
    bank = OldBank(tmp_path)

    bank.abandon()

    assert bank.ended()


def test_a_rehearsal_leaves_the_book_as_it_was(old_bank: OldBank) -> None:
    tell(old_bank, message("Sale"))
    before = old_bank.book()

    with old_bank.rehearsal():
        tell(old_bank, {**message("Sale"), "OrderId": "AN0THER0RDER0RDER0RD"})
        assert len(old_bank.book()) == len(before) + 1

    assert old_bank.book() == before != []
