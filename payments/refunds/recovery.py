"""Recovery: a retry with the same Idempotency-Key finishes the refund of a request that died.

Source of the rules: contract 6.
"""

from acquirers.conversation import settling
from api.idempotency import Earlier
from merchants.models import Merchant
from payments.refunds import asking
from payments.refunds.models import Refund
from payments.refunds.states import PendingReason


def resume(merchant: Merchant, earlier: Earlier) -> Refund:
    """Finish the work that the earlier request began on its refund, and return the refund.

    A refund that has ended is never sent again: its end is the answer.

    :raises IdempotencyKeyInUse: the sweeper is asking the bank this moment.
    :raises AcquirerBusy: no slot came free; nothing has changed, and a later retry can succeed.
    """
    if not earlier.is_finished:
        _finish(merchant, earlier)
    return Refund.objects.for_merchant(merchant).find(earlier.object_id)


def _finish(merchant: Merchant, earlier: Earlier) -> None:
    rows = Refund.objects.for_merchant(merchant).filter(id=earlier.object_id)
    unfinished = rows.filter(pending_reason=PendingReason.PROCESSING)
    settling.resume(asking.KIND, merchant.id, unfinished)
