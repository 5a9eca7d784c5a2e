"""An inquiry about an approval whose answer comes after the money was captured or asked for."""

from collections.abc import Iterator

import pytest

from acquirers.conversation import leases, settling
from payments.bank import attempts
from payments.intents.models import Attempt
from payments.refunds.models import Refund
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_at_noon
from tests.stage.client import ApiClient
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import OldBankWay, old_bank_behind

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def bank(db: None, old_bank: OldBank) -> Iterator[OldBankWay]:
    with old_bank_behind(old_bank) as way:
        begin_at_noon()
        yield way


@pytest.mark.usefixtures("bank")
def test_an_answer_from_before_the_capture_takes_nothing_back(acme: ApiClient) -> None:
    payment_id = acme.pay(capture_method="manual")["id"]
    asked = leases.take(Attempt.objects.get())
    assert asked is not None
    told = attempts.KIND.ask(asked)
    acme.post(f"/v1/payment_intents/{payment_id}/capture")

    settling.settle(attempts.KIND, asked, told)

    assert acme.payment(payment_id)["status"] == "succeeded"
    assert not Refund.objects.exists()
    assert_audit_is_clean()
