"""A payment and a refund wander through the house little more than when each kind stood alone."""

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.module_changes import changes_of_module

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# Before the kinds had one conversation; a tenth more is allowed.
PAYMENT, REFUND = 107, 97


@pytest.mark.parametrize(("door", "before"), [("payment", PAYMENT), ("refund", REFUND)])
def test_a_row_changes_modules_at_most_a_tenth_more_often_than_before(
    door: str, before: int, acme: ApiClient, bank: BankTransport, capsys: pytest.CaptureFixture
) -> None:
    paid = acme.pay()
    acme.refund(paid["id"], 100)  # By now all is loaded that is loaded once.

    calls = changes_of_module(
        acme.pay if door == "payment" else lambda: acme.refund(paid["id"], 100)
    )

    changes = 1 + 2 * len(calls)  # There and back again, and the beginning.
    with capsys.disabled():
        print(f"\na {door} changes modules {changes} times; {before} before")  # noqa: T201
    assert before / 2 < changes <= before * 1.1
