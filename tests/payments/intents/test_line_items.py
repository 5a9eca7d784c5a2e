"""Line items of a payment: their amounts sum to its own, or it is refused."""

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.books import refused
from tests.stage.client import ApiClient
from tests.stage.factories import line, payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LARGEST = 999_999_999_999


def test_lines_are_shown_as_ids_and_expanded_in_their_order(
    acme: ApiClient, bank: BankTransport
) -> None:
    lines = [line(2500, name="Glass"), line(10_000, name="Pot")]
    paid = acme.pay(line_items=lines)

    expanded = acme.get(f"/v1/payment_intents/{paid['id']}?expand[]=line_items")["line_items"]

    assert [item["id"] for item in expanded] == paid["line_items"]
    assert [item["name"] for item in expanded] == ["Glass", "Pot"]


def test_a_line_shows_its_parts(acme: ApiClient, bank: BankTransport) -> None:
    sent = line(
        4000, quantity=3, tax_amount=900, discount_amount=400, product_code="TG-1",
        category="kitchen", item_type="physical",
    )  # fmt: skip

    [item] = acme.pay(line_items=[sent], expand=["line_items"])["line_items"]

    assert item.items() >= sent.items()
    assert (item["object"], item["amount"], item["currency"]) == ("line_item", 12500, "try")
    assert item.keys() == sent.keys() | {
        "id",
        "object",
        "amount",
        "currency",
        "created",
        "livemode",
    }
    assert item["id"].startswith("li_")


def test_what_a_line_leaves_out_has_a_default(acme: ApiClient, bank: BankTransport) -> None:
    [item] = acme.pay(line_items=[line(12500)], expand=["line_items"])["line_items"]

    assert (item["quantity"], item["tax_amount"], item["discount_amount"]) == (1, 0, 0)
    assert (item["product_code"], item["category"], item["item_type"]) == (None, None, None)


@pytest.mark.parametrize(
    "lines",
    [
        [line(12500)],
        [line(1, quantity=12500)],
        [line(12500), line(0)],
        [line(5000, quantity=3, discount_amount=2500)],
        [line(0, tax_amount=12500)],
        [line(125)] * 100,
        [],
    ],
)
def test_lines_that_sum_to_the_amount_are_taken(
    lines: list, acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.pay(line_items=lines)

    assert answer["status"] == "succeeded"
    assert len(answer["line_items"]) == len(lines)


@pytest.mark.parametrize(
    ("lines", "code", "param"),
    [
        ([line(12501)], "line_items_amount_mismatch", "line_items"),
        ([line(12500), line(1)], "line_items_amount_mismatch", "line_items"),
        ([line(0)], "line_items_amount_mismatch", "line_items"),
        ([line(12500, quantity=0)], "parameter_invalid", "line_items[0][quantity]"),
        ([line(12500), line(-1)], "amount_too_small", "line_items[1][unit_amount]"),
        ([line(100, discount_amount=101)], "amount_too_large", "line_items[0][discount_amount]"),
        ([line(LARGEST, quantity=2)], "amount_too_large", "line_items[0][unit_amount]"),
        ([line(LARGEST, quantity=1_000_000)], "amount_too_large", "line_items[0][unit_amount]"),
        ([line(12500, item_type="liquid")], "parameter_invalid", "line_items[0][item_type]"),
        ([line(12500, colour="green")], "parameter_unknown", "line_items[0][colour]"),
        ([line(12500, name="")], "parameter_missing", "line_items[0][name]"),
        (["Glass"], "parameter_invalid", "line_items[0]"),
        ("Glass", "parameter_invalid", "line_items"),
    ],
)
def test_lines_that_do_not_add_up_are_refused(
    lines: list, code: str, param: str, acme: ApiClient, bank: BankTransport
) -> None:
    answer = refused(acme, "/v1/payment_intents", payment(line_items=lines), bank=bank)

    assert answer.refusal == (400, code, param)
