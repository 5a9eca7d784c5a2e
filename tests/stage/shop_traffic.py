"""A merchant's clients at work while a test ends and starts processes, and what must hold then."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

from tests.stage.kills import until
from tests.stage.own_servers import manage
from tests.stage.receivers import Receiver
from tests.stage.two_of_each import PATIENCE_SECONDS, Shop, TwoOfEach, delivered, numbers_of

CLIENTS = 2
ACTS = ("charge", "capture", "cancel", "refund")
PAUSE_SECONDS = 0.1


class Traffic:
    """A merchant's clients that pay, capture and refund without a pause.

    :param more: payments that succeed between two steps of a test.
    """

    def __init__(self, shop: Shop, *, more: int) -> None:
        self.shop, self.paid, self._stopped = shop, list[str](), threading.Event()
        self._more = more
        self._pool = ThreadPoolExecutor(CLIENTS)
        self._clients = [self._pool.submit(self._keep_paying, at) for at in range(CLIENTS)]

    def await_more(self) -> None:
        """Wait until each client has gone on, with whatever runs now."""
        before = len(self.paid)
        until(lambda: self._is_broken() or len(self.paid) >= before + self._more, PATIENCE_SECONDS)
        if self._is_broken():
            self.stop()

    def stop(self) -> None:
        """:raises AssertionError: an answer was none of a good end."""
        self._stopped.set()
        self._pool.shutdown()
        for client in self._clients:
            client.result()

    def _is_broken(self) -> bool:
        return any(client.done() for client in self._clients)

    def _keep_paying(self, number: int) -> None:
        acts = cycle(ACTS[number:] + ACTS[:number])
        while not self._stopped.is_set():
            act = next(acts)
            is_held = act in ("capture", "cancel")
            one = self.shop.pay(**({"capture_method": "manual"} if is_held else {}))
            if is_held:
                self.shop.ask("POST", f"/payment_intents/{one}/{act}")
            elif act == "refund":
                self.shop.ask("POST", "/refunds", {"payment_intent": one, "amount": 100})
            self.paid.append(one)
            self._stopped.wait(PAUSE_SECONDS)


def assert_all_is_there(house: TwoOfEach, shop: Shop, receiver: Receiver, paid: list[str]) -> None:
    """Compare the books with each other, and what was delivered with the events."""
    expected = {one: numbers_of(shop, one) for one in paid}
    assert all(found == [*range(1, len(found) + 1)] for found in expected.values())
    until(lambda: expected.items() <= delivered(receiver).items(), PATIENCE_SECONDS)
    said = manage(house.settings, "audit", "--rate", "10000")
    assert f"the bank's book is ours: {len(paid)} looked at, ok" in said, said
    # PostgreSQL's own word for a statement that a process did not bear.
    assert [line for line in house.logs().splitlines() if '"level": "error"' in line] == []
    print(f"{len(receiver.requests)} deliveries of {sum(map(len, expected.values()))} events")  # noqa: T201
