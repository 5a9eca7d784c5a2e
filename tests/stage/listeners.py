"""Handlers of notices that only listen, for kinds that no room handles."""

from typing import Any

from acquirers.notices.models import Notice
from payments.customers.models import Customer

KIND = "card_replaced"

# The numbers of the notices that were applied, in this process; a rolled back one is here too.
heard: list[int] = []
# The numbers that the listener cannot stand yet.
hated: set[int] = set()


class Deaf(Exception):
    """A bug of the handler."""


def listen(notice: Notice, attempt: Any) -> None:
    """Leave a trace in the database, then fail if told to."""
    name = f"{notice.kind} {notice.number}"
    Customer.objects.create(
        id=f"cus_{notice.pk}", merchant=attempt.merchant, name=name, created_at=notice.at
    )
    heard.append(notice.number)
    if notice.number in hated:
        raise Deaf("4242 and other things that nobody should read")
