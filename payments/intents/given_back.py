"""Money of a payment that goes back: reserved for refunds, or disputed at the bank.

The one writer of `refunded_minor` and `disputed_minor` (contract-money, architecture 1). The caller
has locked the payment, and writes down the refund or the dispute in the same transaction. Neither
has an event of the payment's own (contract 8).
"""

from payments.intents.models import PaymentIntent


def reserve_refund(intent: PaymentIntent, amount: int) -> None:
    """Count a refund that begins, in minor units, surcharge included.

    The constraint on refunded and captured amounts is the last guard; the caller refuses first.
    """
    intent.refunded_minor += amount
    intent.save(update_fields=["refunded_minor"])


def give_back_refund(intent: PaymentIntent, amount: int) -> None:
    """Stop counting a refund that failed or was canceled, in minor units."""
    intent.refunded_minor -= amount
    intent.save(update_fields=["refunded_minor"])


def note_dispute(intent: PaymentIntent, change: int) -> None:
    """Count a dispute that opened, or stop counting one that was won.

    :param change: in minor units, negative when money comes back. Inquiries change nothing.
    """
    intent.disputed_minor += change
    intent.save(update_fields=["disputed_minor"])
