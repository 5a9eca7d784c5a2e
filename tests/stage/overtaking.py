"""One use case overtakes another between its read and its lock, at a chosen moment."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import get_ident
from typing import Any
from unittest.mock import patch

from django.db import connection, connections
from django.db.models import Model

from acquirers.conversation import leases
from core import rows
from core.querysets import MerchantRows
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.oldbank.way import OldBankWay

# Somebody else's whole use case.
Other = Callable[[], Any]
# A hang is ended after this; alone a use case takes a twentieth of a second.
ENDS_SECONDS = 60


class Road:
    """The moments of one use case at which another may overtake it: before each lock and lease, and
    around each question to the bank. `passed` names those that it came to, and `asked` counts the
    questions to the bank, everybody's.
    """

    def __init__(self) -> None:
        self.passed: list[str] = []
        self.asked = 0
        self._driver = get_ident()
        self._lane = ThreadPoolExecutor(1)
        self._stop_at: int | None = None
        self._other: Other = lambda: None

    @contextmanager
    def overtaken(self, at: int | None, other: Other = lambda: None) -> Iterator[None]:
        """Stop this thread's use case at its moment number `at` until the other has ended.

        :param at: counted from 0; None for nowhere.
        """
        self.passed, self._stop_at, self._other = [], at, other
        with (
            patch.object(MerchantRows, "lock", self._before(MerchantRows.lock, "lock")),
            patch.object(rows, "lock", self._before_payments(rows.lock)),
            patch.object(leases, "take", self._before(leases.take, "lease")),
            patch.object(BankTransport, "send", self._around(BankTransport.send, "bank")),
            patch.object(OldBankWay, "send", self._around(OldBankWay.send, "bank")),
        ):
            yield

    def aside(self, other: Other) -> Any:
        """Let another use case run to its end now, with connections of its own."""
        return self._lane.submit(other).result(ENDS_SECONDS)

    def close(self) -> None:
        """End the other's thread, and the connections that it opened."""
        self.aside(connections.close_all)
        self._lane.shutdown()

    def _before(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def stopped(*arguments: Any, **options: Any) -> Any:
            self._come_to(f"before the {name}")
            return call(*arguments, **options)

        return stopped

    def _before_payments(self, call: Callable[..., Any]) -> Callable[..., Any]:
        stopped = self._before(call, "lock")

        def lock(model: type[Model], *arguments: Any, **options: Any) -> Any:
            # Locks behind the payment's are waited for with it.
            first = stopped if model is PaymentIntent else call
            return first(model, *arguments, **options)

        return lock

    def _around(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def stopped(*arguments: Any, **options: Any) -> Any:
            self._come_to(f"before the {name}")
            self.asked += 1
            answer = call(*arguments, **options)
            self._come_to(f"after the {name}")
            return answer

        return stopped

    def _come_to(self, moment: str) -> None:
        if get_ident() != self._driver:
            return
        self.passed.append(moment)
        if len(self.passed) - 1 == self._stop_at:
            self.aside(self._other)


def versions_of(payment_id: str) -> list[tuple[str, str]]:
    """Return the ids of a payment's rows, its refunds' too, with the transactions that wrote them.

    One that has begun and did not commit is not seen.
    """
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, {"payment": payment_id})
        return cursor.fetchall()


_VERSIONS = """
    WITH attempts AS (SELECT id, xmin FROM intents_attempt WHERE intent_id = %(payment)s)
    SELECT id, xmin::text FROM intents_paymentintent WHERE id = %(payment)s
    UNION ALL SELECT id, xmin::text FROM attempts
    UNION ALL SELECT id, xmin::text FROM intents_modification
        WHERE attempt_id IN (SELECT id FROM attempts)
    UNION ALL SELECT id, xmin::text FROM refunds_refund WHERE intent_id = %(payment)s
    ORDER BY 1
"""
