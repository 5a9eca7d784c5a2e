"""A bank's file beside our books: each difference is one case, once, however often it is read."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError
from django.test import override_settings

from audit.reconciliation import differences
from audit.reconciliation.models import Difference, KeptLine
from core import clock
from payments.disputes import operators
from payments.disputes.deadlines import close_overdue
from payments.disputes.models import Dispute
from payments.intents.models import Attempt
from payouts.models import Payout
from testbank import behaviours, decisions
from tests.audit.test_audit import unguarded
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon, end_the_day
from tests.stage.bank_disputes import DISPUTED
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.settlement_days import (
    a_file,
    busy_day,
    file_of,
    found,
    hear,
    line,
    read,
    reconcile,
    sale,
    today,
)
from tests.stage.sweeper import sweep_after
from tests.stage.transfers import pay_out, rich, sent
from tests.stage.undecided import an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return acme


# --- What agrees ------------------------------------------------------------------------------


def test_an_untouched_file_reconciles_to_zero_on_its_day_and_the_next(
    shop: ApiClient, tmp_path: Path
) -> None:
    day = busy_day(shop)
    file = file_of(day)
    assert {row.split(",")[1] for row in file.splitlines()[1:]} == {
        "sale", "void", "refund", "refund_return", "chargeback", "chargeback_return",
        "transfer_out", "transfer_return", "transfer_in", "transfer_in_return",
    }  # fmt: skip

    status, said = reconcile(file, tmp_path)
    assert status == 0, said
    end_the_day()

    assert reconcile(file, tmp_path)[0] == 0
    assert reconcile(file_of(today()), tmp_path, "--day", str(today()))[0] == 0
    assert not Difference.objects.exists()
    assert not KeptLine.objects.exists()
    assert_audit_is_clean(despite_unknown=True)


def test_a_day_whose_every_line_is_missing_is_found_line_by_line(shop: ApiClient) -> None:
    """The other way round: what the file of a busy day has, is looked for in it."""
    day = busy_day(shop)
    lines = file_of(day).splitlines()[1:]

    made = read(a_file(), day)

    assert made.opened == len(lines)
    assert sorted(kind for _, kind in found()) == sorted(row.split(",")[1] for row in lines)
    assert {kind for kind, _ in found()} == {"missing_there"}


def test_lines_in_any_order_agree(shop: ApiClient) -> None:
    header, *lines = file_of(busy_day(shop)).splitlines()

    made = read("\n".join([header, *sorted(lines, reverse=True)]))

    assert (made.lines, made.opened) == (len(lines), 0)


def test_a_file_with_a_mark_semicolons_quotes_and_foreign_line_ends_agrees(shop: ApiClient) -> None:
    text = file_of(busy_day(shop))
    quoted = ['"' + row.replace(",", '";"') + '"' for row in text.splitlines()]

    made = read(b"\xef\xbb\xbf" + "\r\n".join(quoted).encode())

    assert (made.unread, made.opened) == (0, 0)
    assert made.lines == len(quoted) - 1


# --- What differs -----------------------------------------------------------------------------

PLANTED = {
    "missing": "missing_there",
    "extra": "missing_here",
    "amount": "amount_differs",
    "currency": "currency_differs",
    "duplicate": "twice",
}


@pytest.mark.dear("reads two files for each difference")
@pytest.mark.every_case("each difference in the books must be found")
@pytest.mark.parametrize("wrong", PLANTED)
def test_a_planted_difference_is_found_once_by_two_readings(
    wrong: str, shop: ApiClient, tmp_path: Path
) -> None:
    day = busy_day(shop)
    planted = file_of(day, wrong=wrong)

    assert reconcile(planted, tmp_path)[0] == 1
    assert reconcile(planted, tmp_path)[0] == 1

    assert found() == [(PLANTED[wrong], "sale")]
    assert Difference.objects.count() == 1


@pytest.mark.parametrize("wrong", PLANTED)
def test_a_later_file_that_agrees_closes_it(wrong: str, shop: ApiClient, tmp_path: Path) -> None:
    day = busy_day(shop)
    read(file_of(day, wrong=wrong))
    end_the_day()

    status, said = reconcile(file_of(day), tmp_path)

    assert (status, found()) == (0, []), said
    closed = Difference.objects.get()
    assert closed.closed_at is not None
    assert closed.closed_by is None
    assert not KeptLine.objects.exists()


def test_a_case_has_both_sides(shop: ApiClient) -> None:
    begin_at_noon()
    paid = shop.pay()["id"]

    read(a_file(sale(today(), shop, paid, amount=12501)))

    case = Difference.objects.get()
    attempt = Attempt.objects.get()
    sides = {"merchant": shop.merchant.id, "currency": "try", "date": str(today())}
    assert case.bank == {**sides, "amount": 12501}
    assert case.ours == {**sides, "amount": 12500, "object": attempt.id}
    assert (case.merchant, case.reference) == (shop.merchant, attempt.acquirer_reference)


def test_a_line_of_another_merchant_of_ours_is_a_difference(
    shop: ApiClient, globex: ApiClient
) -> None:
    begin_at_noon()
    paid = shop.pay()["id"]

    read(a_file(sale(today(), shop, paid, merchant=globex.merchant.id)))

    assert found() == [("merchant_differs", "sale")]


def test_a_case_that_a_person_closed_stays_closed_until_something_else_is_wrong(
    shop: ApiClient,
) -> None:
    begin_at_noon()
    paid = shop.pay()["id"]
    wrong = a_file(sale(today(), shop, paid, amount=12501))
    read(wrong)
    operator = an_operator()
    differences.close(operator, Difference.objects.get().id, reason="a fee of the bank's")

    read(wrong)
    assert found() == []

    read(a_file(sale(today(), shop, paid, amount=12502)))
    assert found() == [("amount_differs", "sale")]


def test_a_booking_that_we_write_down_later_closes_its_case(shop: ApiClient) -> None:
    """The file of a day is read once, and we book what it has afterwards."""
    begin_at_noon()
    paid = shop.pay()["id"]
    first = today()
    file = a_file(sale(first, shop, paid))
    unguarded("UPDATE intents_attempt SET acquirer_reference = 'OTHERWISE'")
    read(file)
    assert found() == [("missing_here", "sale"), ("missing_there", "sale")]

    unguarded("UPDATE intents_attempt SET acquirer_reference = %s", file.split(",")[8])
    end_the_day()
    read(a_file(), today())

    assert found() == [("missing_there", "sale")]
    read(file)
    assert found() == []


def test_days_that_overlap_open_nothing_twice(shop: ApiClient) -> None:
    begin_at_noon()
    first = today()
    shop.pay()
    end_the_day()
    begin_at_noon()
    shop.pay()
    one = file_of(first, wrong="missing")
    both = "".join([one, *file_of(today()).splitlines(keepends=True)[1:]])

    read(one, first)
    read(both, first, today())

    assert found() == [("missing_there", "sale")]
    assert Difference.objects.count() == 1


def test_a_line_that_the_bank_books_a_day_later_agrees_in_either_order(shop: ApiClient) -> None:
    begin_at_noon()
    paid = shop.pay()["id"]
    first, second = today(), today() + timedelta(days=1)
    late = a_file(sale(second, shop, paid))

    read(late)
    read(a_file(), first)

    assert found() == []
    assert KeptLine.objects.count() == 1


# --- What is in doubt waits -------------------------------------------------------------------


def test_what_is_in_doubt_is_no_case_and_agrees_once_it_is_known(
    shop: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    bank.fault = "cut_after"
    assert shop.pay()["status"] == "processing"
    bank.fault = None
    file = file_of(today())

    made = read(file)

    assert (made.opened, KeptLine.objects.count()) == (0, 1)
    sweep_after(60)
    assert Attempt.objects.get().status == "succeeded"
    assert read(file).opened == 0
    assert found() == []
    assert not KeptLine.objects.exists()


def test_what_is_in_doubt_with_us_and_not_at_the_bank_is_no_case(
    shop: ApiClient, bank: BankTransport
) -> None:
    begin_at_noon()
    bank.fault = "lost"
    assert shop.pay()["status"] == "processing"

    assert read(a_file(), today()).opened == 0


# --- Files that are bad -----------------------------------------------------------------------

CARD = "4242424242424242"
BAD: dict[str, Callable[[date, ApiClient], str]] = {
    "2 fields instead of 7": lambda *_: "a,b",
    "8 fields instead of 7": lambda day, shop: line(day, shop) + ",more",
    "type: none of the list": lambda day, shop: line(day, shop, type="gift"),
    "date: not a day as YYYY-MM-DD": lambda day, shop: line(day, shop, date="20261102"),
    "value_date: not a day as YYYY-MM-DD": lambda day, shop: line(
        day, shop, value_date="2026-02-30"
    ),
    "amount: not a whole number above zero, in minor units": lambda day, shop: line(
        day, shop, amount="-5"
    ),
    "currency: not three letters": lambda day, shop: line(day, shop, currency="lira"),
    "reference: not 1 to 64 letters, digits, _ and -": lambda day, shop: line(
        day, shop, reference=""
    ),
    "reference: it may be a card number": lambda day, shop: line(day, shop, reference=CARD),
    "merchant: it may be a card number": lambda day, shop: line(
        day, shop, merchant="4242-4242-4242-4242"
    ),
    "merchant: none of this installation": lambda day, shop: line(
        day, shop, merchant="mer_elsewhere"
    ),
    "its quotes do not match": lambda day, shop: line(day, shop, reference='"a'),
    "longer than 1000 bytes": lambda day, shop: line(day, shop, reference="a" * 100_000),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_line_is_named_by_number_and_reason_and_the_rest_is_compared(
    reason: str, shop: ApiClient, tmp_path: Path
) -> None:
    begin_at_noon()
    day, paid = today(), shop.pay()["id"]
    file = a_file(BAD[reason](day, shop), sale(day, shop, paid), line(day, shop, reference="NEW"))

    status, said = reconcile(file, tmp_path)

    assert status == 1
    assert f"UNREADABLE line 2: {reason}" in said
    assert found() == [("missing_here", "sale")]
    assert CARD not in said.replace("-", "")
    assert "elsewhere" not in said


@pytest.mark.parametrize("amount", ["0", "1.5", "true", "", "1" * 19, "９"])
def test_an_amount_is_a_whole_number_above_zero(amount: str, shop: ApiClient) -> None:
    made = read(a_file(line(today(), shop, amount=amount)))

    assert (made.lines, made.unread, made.opened) == (0, 1, 0)


def test_a_line_that_is_no_text_is_named(shop: ApiClient) -> None:
    made = read(a_file("\udcff", line(today(), shop)).encode(errors="surrogateescape"))

    assert made.unreadable == [(2, "not UTF-8")]
    assert made.opened == 1


def test_a_file_with_a_bad_line_closes_nothing_by_what_it_lacks(shop: ApiClient) -> None:
    begin_at_noon()
    day, paid = today(), shop.pay()["id"]
    read(a_file(sale(day, shop, paid), line(day, shop)))

    read(a_file(sale(day, shop, paid), "a,b"))
    assert found() == [("missing_here", "sale")]

    read(a_file(sale(day, shop, paid)))
    assert found() == []


@pytest.mark.parametrize("text", ["", "\n", "date,type\n", "sep=,\n", "2026-01-01,x\n"])
def test_a_file_without_its_header_is_refused_whole(
    text: str, shop: ApiClient, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match="Nothing was compared") as refused:
        reconcile(text, tmp_path)

    assert refused.value.returncode == 2
    assert not Difference.objects.exists()


@pytest.mark.parametrize("rest", ["", "\n\n"])
def test_a_file_without_a_line_speaks_for_no_day_unless_it_is_named(
    rest: str, shop: ApiClient, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match="no line: name its day with --day") as refused:
        reconcile(a_file() + rest, tmp_path)

    assert refused.value.returncode == 2
    assert reconcile(a_file() + rest, tmp_path, "--day", str(today()))[0] == 0


def test_another_currency_is_compared_as_it_is(shop: ApiClient) -> None:
    begin_at_noon()
    paid = shop.pay()["id"]

    read(a_file(sale(today(), shop, paid, currency="XYZ")))

    assert found() == [("currency_differs", "sale")]


@pytest.mark.parametrize("number", ["7001", "9"])
def test_the_banks_number_of_a_merchant_stands_for_its_id(number: str, shop: ApiClient) -> None:
    begin_at_noon()
    paid = shop.pay()["id"]

    with override_settings(BANK_MERCHANTS={"7001": shop.merchant.id, "9": "*"}):
        made = read(a_file(sale(today(), shop, paid, merchant=number)))

    assert (made.unread, made.opened) == (0, 0)


def test_a_payout_that_came_back_before_we_asked_is_two_lines_that_agree(shop: ApiClient) -> None:
    rich(shop)
    begin_at_noon()
    sent(pay_out(shop, 5000, destination="test_bounced")["id"])
    sweep_after(60)
    assert Payout.objects.get().status == "failed"
    header, out, back = file_of(today()).splitlines()

    assert (read(f"{header}\n{out}\n{back}\n").opened, found()) == (0, [])
    read(f"{header}\n{out}\n")

    assert found() == [("missing_here", "transfer_out")]


@pytest.mark.parametrize("amount", [5000, 5001])
def test_out_and_back_in_files_of_two_days_agree_whichever_is_read_again(
    amount: int, shop: ApiClient
) -> None:
    rich(shop)
    begin_at_noon()
    sent(pay_out(shop, 5000, destination="test_bounced")["id"])
    sweep_after(60)
    header, out, back = file_of(today()).splitlines()
    out = out.replace(",5000,", f",{amount},")
    files = [f"{header}\n{line}\n" for line in (out, _a_day_later(back))]
    for file in files:
        read(file)
    differ = [("amount_differs", "transfer_out"), ("missing_here", "transfer_return")]
    expected = [] if amount == 5000 else differ
    assert found() == expected

    for file in (*files, *reversed(files)):
        assert read(file).opened == 0
        assert found() == expected


def _a_day_later(line: str) -> str:
    return line.replace(str(today()), str(today() + timedelta(days=1)), 1)


@pytest.mark.parametrize("given_up_by", ["the due date", "the merchant"])
def test_a_loss_that_the_bank_never_had_is_expected_in_its_files_until_it_says_so(
    given_up_by: str, shop: ApiClient
) -> None:
    dispute = disputed(shop)
    decisions.win(dispute.bank_reference)  # We do not hear of it yet.
    if given_up_by == "the merchant":
        shop.post(f"/v1/disputes/{dispute.id}/close")
    else:
        clock.advance(dispute.evidence_due_by - clock.now())
        close_overdue(job="disputes")
    lost_on = today()
    read(file_of(lost_on), lost_on)
    expected = [] if given_up_by == "the merchant" else [("missing_there", "chargeback")]
    assert found() == expected  # An acceptance is owed to the bank, and in doubt.

    clock.advance(timedelta(days=1))
    hear()

    assert shop.get(f"/v1/disputes/{dispute.id}")["status"] == "won"
    for day in (lost_on, today()):
        read(file_of(day), day)
    assert found() == []


def test_a_loss_that_came_back_is_expected_in_the_banks_files(shop: ApiClient) -> None:
    dispute = disputed(shop)
    for decide in (decisions.lose, decisions.regain):
        decide(dispute.bank_reference)
        hear()
    sold, lost, regained = (line.split(",")[1] for line in file_of(today()).splitlines()[1:])
    assert (sold, lost, regained) == ("sale", "chargeback", "chargeback_return")

    assert read(file_of(today()), today()).opened == 0
    read(a_file(), today())

    assert sorted(found()) == [
        ("missing_there", "chargeback"), ("missing_there", "chargeback_return"),
        ("missing_there", "sale"),
    ]  # fmt: skip


def test_a_loss_and_its_end_by_an_operators_word_are_expected_in_the_banks_files(
    shop: ApiClient,
) -> None:
    dispute, operator = disputed(shop), an_operator()
    seen = dispute.status
    for decision in (operators.DisputeDecision.LOST, operators.DisputeDecision.WON):
        ruling = operators.Ruling(decision, seen, "The bank wrote so.")
        operators.decide(operator, dispute.id, ruling)
        seen = decision.value

    read(file_of(today()), today())

    assert found() == [("missing_there", "chargeback"), ("missing_there", "chargeback_return")]


def test_a_loss_by_an_operators_word_after_the_bank_said_won_is_expected_too(
    shop: ApiClient,
) -> None:
    dispute, operator = disputed(shop), an_operator()
    decisions.win(dispute.bank_reference)
    hear()
    ruling = operators.Ruling(operators.DisputeDecision.LOST, "won", "The bank wrote so.")
    operators.decide(operator, dispute.id, ruling)

    read(file_of(today()), today())

    assert found() == [("missing_there", "chargeback")]


def disputed(shop: ApiClient) -> Dispute:
    """Return the open dispute of a payment of this noon."""
    begin_at_noon()
    shop.pay(DISPUTED)
    clock.advance(behaviours.DISPUTED_AFTER)
    hear()
    return Dispute.objects.get()


# --- The page ---------------------------------------------------------------------------------

PAGE = (settings.BASE_DIR / "docs/operate/reconciliation.md").read_text()
EXAMPLES = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
SAID = dict(re.findall(r"^\| `([A-E])` \| (\S+) \|$", PAGE, re.MULTILINE))


def test_the_worked_example_goes_as_the_page_says(shop: ApiClient, tmp_path: Path) -> None:
    begin_at_noon()
    paid = {name: shop.pay()["id"] for name in "ABC"}
    names = {
        Attempt.objects.get(intent_id=one).acquirer_reference: name for name, one in paid.items()
    }

    def of_today(example: str) -> str:
        """Put the day, the merchant and the references of this test into a file of the page."""
        text = example.replace("2026-11-23", str(today())).replace("mer_1", shop.merchant.id)
        for reference, name in names.items():
            text = text.replace(f"sale,{name},", f"sale,{reference},")
        return text

    first, second = map(of_today, EXAMPLES)

    status, said = reconcile(first, tmp_path)

    cases = {names.get(one.reference, one.reference): one.kind for one in Difference.objects.all()}
    assert {name: f"`{kind}`" for name, kind in cases.items()} == {
        name: case for name, case in SAID.items() if case != "–"
    }
    assert (status, SAID["A"]) == (1, "–")
    assert "UNREADABLE line 5" in said
    assert reconcile(second, tmp_path)[0] == 0
