"""The simulated bank's book as the doors of a protocol fill it: a shop is known by its terminal."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F

from payments.intents.models import Attempt
from testbank import behaviours
from testbank.models import OrderLine
from testbank.protocols.lines import Payment
from testbank.router import BANK
from tests.stage.bank_books import BookedOrder, SandboxBook
from tests.stage.database_role import past_guards


class ProtocolBook(SandboxBook):
    """The book, in the words of `tests.stage.bank_books`."""

    def __init__(self, table: type[OrderLine], pay: Callable[..., Any], client_id: str) -> None:
        """Read and write the book by a protocol's lines.

        :param client_id: of the terminal at which `charge` charges.
        """
        super().__init__()
        self.table, self.pay, self.client_id = table, pay, client_id

    def orders(self, references: Collection[str] | None) -> list[BookedOrder]:
        """Return these orders, with the merchants whose attempts they are."""
        rows = Attempt.objects.values_list("acquirer_reference", "merchant_id")
        merchants = dict(rows)
        booked = super().orders(references)
        return [replace(one, merchant=merchants.get(one.reference, "")) for one in booked]

    def charge(self, number: str, *, reference: str, merchant: str) -> None:
        """Charge a card 125.00 lira, for nobody who asks for it."""
        sale = Payment(self.client_id, reference, 12500, "try", installments=1, capture=True)
        with transaction.atomic(using=BANK):
            self.pay(sale, behaviours.of(number))

    def make_older(self, reference: str, span: timedelta) -> None:
        """Move an order and its lines into the past."""
        super().make_older(reference, span)
        rows = self.table._default_manager.filter(order_id=reference)
        with past_guards(BANK):
            rows.update(created_at=F("created_at") - span, told_from=F("told_from") - span)
