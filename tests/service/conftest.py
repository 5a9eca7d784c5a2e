"""A house of two of each process, and the receiver of its webhooks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.servers import Servers
from tests.stage.own_servers import migrated
from tests.stage.receivers import OK, Receiver
from tests.stage.two_of_each import TwoOfEach


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver(lambda wire: wire.sendall(OK))
    yield receiver
    receiver.close()


@pytest.fixture
def house(own_servers: Servers, tmp_path: Path, receiver: Receiver) -> Iterator[TwoOfEach]:
    house = TwoOfEach(migrated(own_servers, tmp_path), tmp_path, receiver)
    yield house
    house.stop()
