from collections.abc import Callable

import pytest

from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.complaints import Complaint
from tests.stage.notifier import Notifier


@pytest.fixture
def complaint(acme: ApiClient, bank: BankTransport, notifier: Notifier) -> Complaint:
    """A charged payment of Acme's, of which the bank has told nothing yet."""
    return Complaint(acme, notifier)


@pytest.fixture
def another(acme: ApiClient, bank: BankTransport, notifier: Notifier) -> Callable[..., Complaint]:
    """Makes further ones."""
    return lambda **changes: Complaint(acme, notifier, **changes)
