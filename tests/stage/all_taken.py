"""An acquirer at which every slot of this process is taken."""

from collections.abc import Iterator
from contextlib import contextmanager

from acquirers import slots

SOMEBODY = "mer_somebody"


@contextmanager
def all_slots_taken() -> Iterator[None]:
    """Let somebody hold every slot for the length of the block."""
    places = slots.places()
    taken = 0
    while places.take(SOMEBODY):
        taken += 1
    assert taken
    try:
        yield
    finally:
        for _ in range(taken):
            places.give_back(SOMEBODY)
