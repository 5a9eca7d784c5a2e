import pytest

from acquirers.models import Terminal
from acquirers.notices import applying, storing
from core import context
from tests.stage.factories import payment
from tests.stage.notifier import Notifier, another_dispute
from tests.stage.sdk_service import SdkService
from tests.stage.stripe_calls import client


@pytest.fixture(scope="module")
def disputed(sdk_service: SdkService) -> list[str]:
    """Payments of which the bank has told disputes, oldest first; committed, for the service."""
    intents, notifier = client(sdk_service).v1.payment_intents, Notifier()
    paid = [intents.create(params=payment()).id for _one in range(4)]
    for payment_id in paid:
        notifier.tell("dispute_opened", payment_id, dispute=another_dispute())
    with context.work():
        storing.store(Terminal.objects.get(name="sandbox"), notifier.told)
        applying.apply_new(job="tests.clients")
    return paid
