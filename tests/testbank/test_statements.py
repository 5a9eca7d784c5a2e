"""The bank's statement: the money of each order and each refund, from rows of its own."""

import pytest

from core import clock
from testbank import behaviours, decisions
from testbank.models import Bounce, Capture, Chargeback, Recovery, Repayment, Reversal
from tests.stage.bank_disputes import complained
from tests.stage.bank_orders import ask, authorize, refund, void

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

MONEY = (
    "taken_amount", "returned_amount", "repaid_amount", "bounced_amount", "charged_back_amount",
    "regained_amount",
)  # fmt: skip


def money() -> dict[str, tuple[int, ...]]:
    """Return the moved money of each line: by each name of `MONEY`."""
    lines = ask(b"", "/statement", "GET")[1]["lines"]
    return {line["reference"]: tuple(line[name] for name in MONEY) for line in lines}


def refund_lines(behind: str = "") -> list[tuple[str, str, int, str, int, int]]:
    lines = ask(b"", f"/statement/refunds?{behind}", "GET")[1]["lines"]
    names = ("reference", "order", "amount", "state", "repaid_amount", "bounced_amount")
    return [tuple(line[name] for name in names) for line in lines]


def test_a_void_a_refund_and_one_that_bounced() -> None:
    for name in ("a", "b", "c", "d"):
        authorize(reference=name, capture=True)
    void("a")
    refund(5000, "back_b", "b")
    refund(5000, "back_c", "c")
    decisions.bounce("back_c")

    assert money() == {
        "a": (12500, 12500, 0, 0, 0, 0),
        "b": (12500, 0, 5000, 0, 0, 0),
        "c": (12500, 0, 5000, 5000, 0, 0),
        "d": (12500, 0, 0, 0, 0, 0),
    }


def test_a_dispute_counts_when_it_is_lost_and_not_while_it_is_open() -> None:
    dispute = complained()
    assert money() == {"ref_1": (12500, 0, 0, 0, 0, 0)}

    decisions.lose(dispute)
    assert money() == {"ref_1": (12500, 0, 0, 0, 12500, 0)}

    decisions.regain(dispute)
    assert money() == {"ref_1": (12500, 0, 0, 0, 12500, 12500)}


def test_a_statement_brings_the_book_up_to_date() -> None:
    dispute = complained()
    authorize("4000000000007726", reference="ref_2", capture=True)
    refund(5000, authorization="ref_2")
    assert refund_lines() == [("back_1", "ref_2", 5000, "pending", 0, 0)]
    clock.advance(behaviours.TAKES_EVIDENCE_FOR)

    assert money() == {
        "ref_1": (12500, 0, 0, 0, 12500, 0),
        "ref_2": (12500, 0, 5000, 0, 0, 0),
    }
    assert refund_lines() == [("back_1", "ref_2", 5000, "refunded", 5000, 0)]
    assert len(dispute) == 20


def test_the_refunds_of_an_order_are_told_by_their_own_references() -> None:
    authorize(capture=True)
    for reference, amount in (("b", 5000), ("a", 7500), ("c", 1)):
        refund(amount, reference)
    decisions.bounce("b")

    assert refund_lines() == [
        ("a", "ref_1", 7500, "refunded", 7500, 0),
        ("b", "ref_1", 5000, "bounced", 5000, 5000),
        ("c", "ref_1", 1, "refused", 0, 0),
    ]
    assert [line[0] for line in refund_lines("after=ref_1&refund=a")] == ["b", "c"]
    assert refund_lines("after=ref_2") == []


def test_a_statement_is_read_to_its_end_in_pages_that_a_gateway_can_read() -> None:
    for number in range(101):
        authorize(reference=f"{number:064}".replace("0", "R"), merchant="m" * 64, capture=True)

    page = ask(b"", "/statement", "GET")[1]["lines"]
    rest = ask(b"", f"/statement?after={page[-1]['reference']}", "GET")[1]["lines"]

    assert (len(page), len(rest)) == (100, 1)
    assert len(str(page)) < 64 * 1024


def test_the_statement_is_the_sum_of_all_rows() -> None:
    decisions.lose(complained(refunded=2000))
    authorize(reference="ref_2", capture=True)
    void("ref_2")

    models = (Capture, Reversal, Repayment, Bounce, Chargeback, Recovery)
    summed = tuple(sum(model.objects.values_list("amount", flat=True)) for model in models)
    assert tuple(map(sum, zip(*money().values(), strict=True))) == summed
    assert summed == (25000, 12500, 2000, 0, 10500, 0)
