"""Disputes of late charges: they decide how the money goes back, and are no merchant's.

A late charge came after its payment had ended, and is given back (`payments.bank.reversals`).
Each function takes an attempt that is locked behind its payment; False: it is no late charge.
"""

from acquirers.notices.models import Notice
from payments.bank import reversals
from payments.disputes.refusals import ClaimUnusable
from payments.intents.models import Attempt


def disputed(notice: Notice, attempt: Attempt) -> bool:
    """Let the money go back by the dispute: the bank refuses every other way while it is open.

    :raises ClaimUnusable: it is about a part of the money.
    """
    reversal = reversals.of_late_charge(attempt)
    if reversal is None:
        return False
    if not notice.dispute or notice.amount != attempt.amount + attempt.surcharge:
        raise ClaimUnusable("it names no dispute, or a part of a late charge")
    reversals.note_dispute(reversal, notice.dispute)
    reversals.contradict(reversal, notice.dispute)
    return True


def inquired(attempt: Attempt) -> bool:
    """Do nothing: an inquiry takes no money, and keeps none from going back."""
    return reversals.of_late_charge(attempt) is not None


def lost(notice: Notice, attempt: Attempt) -> bool:
    """Note that the cardholder has the money back.

    :raises ClaimUnusable: it names no dispute.
    """
    reversal = reversals.of_late_charge(attempt)
    if reversal is None:
        return False
    if not notice.dispute:
        raise ClaimUnusable("it names no dispute")
    reversals.note_lost(reversal, notice.dispute)
    reversals.contradict(reversal, notice.dispute)
    return True


def won(notice: Notice, attempt: Attempt) -> bool:
    """Note that the money is free to go back again.

    :raises ClaimUnusable: it had gone back by the dispute, and came back after all.
    """
    reversal = reversals.of_late_charge(attempt)
    if reversal is None:
        return False
    if reversal.closed_at and reversal.dispute_reference == notice.dispute:
        raise ClaimUnusable("a late charge that was given back came back to us")
    reversals.note_won(reversal)
    return True
