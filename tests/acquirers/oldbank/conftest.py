"""The adapter of the old bank, with an order of Acme's that nobody has paid so far."""

from collections.abc import Iterator

import pytest

import acquirers
from acquirers import references
from acquirers.gateway import Order
from acquirers.models import Terminal
from tests.stage.factories import MerchantFactory
from tests.stage.oldbank.gateway import OldBankGateway
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import KIND, OldBankWay, old_bank_behind


@pytest.fixture
def way(db: None, old_bank: OldBank) -> Iterator[OldBankWay]:
    with old_bank_behind(old_bank) as way:
        yield way


@pytest.fixture
def order(way: OldBankWay) -> Order:
    merchant = MerchantFactory()
    terminal = Terminal.objects.get(kind=KIND)
    return Order(references.new(), terminal, merchant.id, 12500, "try")


@pytest.fixture
def gateway(order: Order) -> OldBankGateway:
    gateway = acquirers.at(order.terminal)
    assert isinstance(gateway, OldBankGateway)
    return gateway
