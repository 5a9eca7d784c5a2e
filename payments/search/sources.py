"""The lists that a text is looked for in: payments, customers, refunds, disputes (contract 7)."""

from collections.abc import Callable, Sequence

from core.querysets import MerchantRows
from core.rest.lists import ListSpec, Source
from payments.customers import search as customer_search
from payments.customers.models import Customer
from payments.disputes import search as dispute_search
from payments.disputes.render import DISPUTES as SHOWN_DISPUTES
from payments.intents import search as intent_search
from payments.refunds import search as refund_search
from payments.refunds.models import Refund

PAYMENTS = ListSpec(search=intent_search.matching)
CUSTOMERS = ListSpec(search=customer_search.matching)
REFUNDS = ListSpec(search=refund_search.matching)
DISPUTES = ListSpec(search=dispute_search.matching)


def sources(
    payments: MerchantRows, found: MerchantRows, *, may_read: Callable[[str], bool]
) -> Sequence[Source]:
    """Return one merchant's lists to be merged, of the kinds that the caller may read.

    :param payments: all payments of the merchant, as cursors.
    :param found: those of them that a text may find.
    :param may_read: returns whether, by the name that a key's scopes have for the kind.
    """
    merchant = payments.merchant
    assert merchant is not None
    lists = [Source(found, PAYMENTS, cursors=payments)]
    if may_read("customers"):
        own = Customer.objects.for_merchant(merchant)
        lists.append(Source(own.existing(), CUSTOMERS, cursors=own))
    if may_read("refunds"):
        lists.append(Source(Refund.objects.for_merchant(merchant), REFUNDS))
    if may_read("disputes"):
        lists.append(Source(SHOWN_DISPUTES.for_merchant(merchant), DISPUTES))
    return lists
