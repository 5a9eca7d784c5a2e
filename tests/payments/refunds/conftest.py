"""The books are compared after every test of refunds."""

from collections.abc import Iterator

import pytest

from payments.intents.models import PaymentIntent
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import BankTransport
from tests.stage.refund_books import assert_every_payment_agrees


@pytest.fixture
def books_agree(bank: BankTransport) -> Iterator[None]:
    """Compare the payments, their refunds, the ledger and the bank's book in the end."""
    yield
    bank.fault = None
    # Tests of refunds write disputes into the payment alone, as `note_dispute` does.
    PaymentIntent.objects.update(disputed_minor=0)
    assert_every_payment_agrees()
    assert_audit_is_clean(despite_unknown=True)
