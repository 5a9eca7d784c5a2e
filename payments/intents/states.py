"""The states of a payment and of an attempt, and which change emits which event.

spec: States and transitions; contract 8.
"""

import enum

from django.db import models

from events.transitions import StatusChange, Table


class PaymentStatus(models.TextChoices):
    """`payment_intent.status`."""

    REQUIRES_PAYMENT_METHOD = "requires_payment_method"
    REQUIRES_CONFIRMATION = "requires_confirmation"
    REQUIRES_ACTION = "requires_action"
    PROCESSING = "processing"
    REQUIRES_CAPTURE = "requires_capture"
    SUCCEEDED = "succeeded"
    CANCELED = "canceled"


class AttemptStatus(models.TextChoices):
    """`payment_attempt.status`; `processing` from the moment the row exists."""

    REQUIRES_ACTION = "requires_action"
    PROCESSING = "processing"
    AUTHORIZED = "authorized"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABANDONED = "abandoned"
    CANCELED = "canceled"


class ModificationKind(models.TextChoices):
    """A thing that the bank is asked to do with an authorised attempt."""

    CAPTURE = "capture"
    VOID = "void"  # The merchant cancels, or the authorisation has expired.
    FALL_BACK = "fallback"  # The bank refused the capture: release the authorisation.
    REVERSE = "reverse"  # The bank charged after we had closed the attempt: give the money back.


class ModificationStatus(models.TextChoices):
    """`processing` from the moment the row exists, until it is known how it ended."""

    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # The bank refused it, or has certainly not done it.
    SUPERSEDED = "superseded"  # The merchant canceled while an expired authorisation was released.


class NextStep(enum.Enum):
    """The next thing to do with a refund at the bank; its lease's holder keeps it in memory."""

    ASK = "ask"
    SEND = "send"
    SEND_AGAIN = "send_again"  # An earlier request is believed lost.


# The reason of a payment that is canceled because its authorisation has ended.
EXPIRED = "expired"
CONFIRMABLE = (
    PaymentStatus.REQUIRES_PAYMENT_METHOD,
    PaymentStatus.REQUIRES_CONFIRMATION,
    PaymentStatus.REQUIRES_ACTION,
)
OPEN_ATTEMPT = (AttemptStatus.REQUIRES_ACTION, AttemptStatus.PROCESSING)
SUCCESSFUL_ATTEMPT = (AttemptStatus.AUTHORIZED, AttemptStatus.SUCCEEDED)
UNPAID = (AttemptStatus.FAILED, AttemptStatus.ABANDONED, AttemptStatus.CANCELED)

# The modifications that hold a payment up. A reversal does not: its attempt is closed, and the
# payment may have gone on with another one.
IN_FLIGHT = (ModificationKind.CAPTURE, ModificationKind.VOID, ModificationKind.FALL_BACK)

CREATED = "payment_intent.created"
ACTION = "payment_intent.requires_action"
PROCESSING = "payment_intent.processing"
CAPTURABLE = "payment_intent.amount_capturable_updated"
SUCCEEDED = "payment_intent.succeeded"
FAILED = "payment_intent.payment_failed"
CANCELED = "payment_intent.canceled"
FRAUD_UPDATED = "payment_intent.fraud_updated"

# Every allowed change of status, with its event. The database's triggers know the same pairs
# (migration 0002), and docs/reference/states.md is made from these tables.
PAYMENTS = Table("payment", "intents.PaymentIntent", beginnings=(
    PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.REQUIRES_CONFIRMATION,
), changes=(
    StatusChange(
        PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.REQUIRES_ACTION, ACTION,
        "A card was given, and its customer has to authenticate.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.PROCESSING, PROCESSING,
        "A card was given, and the bank did not answer, or said “later”.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.REQUIRES_CAPTURE, CAPTURABLE,
        "A card was given and authorised; `capture_method` is `manual`.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.SUCCEEDED, SUCCEEDED,
        "A card was given and charged.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.REQUIRES_PAYMENT_METHOD, FAILED,
        "A card was given and declined, or blocked by a rule about risk, or its 3-D Secure could "
        "not begin, or the bank could not be reached.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_PAYMENT_METHOD, PaymentStatus.CANCELED, CANCELED,
        "The merchant canceled it.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.REQUIRES_ACTION, ACTION,
        "It was confirmed, and the customer has to authenticate.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.PROCESSING, PROCESSING,
        "It was confirmed, and the bank did not answer, or said “later”.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.REQUIRES_CAPTURE, CAPTURABLE,
        "It was confirmed and authorised; `capture_method` is `manual`.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.SUCCEEDED, SUCCEEDED,
        "It was confirmed and charged.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.REQUIRES_PAYMENT_METHOD, FAILED,
        "It was confirmed and declined, or blocked by a rule about risk, or its 3-D Secure could "
        "not begin, or the bank could not be reached.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CONFIRMATION, PaymentStatus.CANCELED, CANCELED,
        "The merchant canceled it.",
    ),
    # Confirmed again while the payer was at the bank: a new attempt, perhaps with a new action.
    StatusChange(
        PaymentStatus.REQUIRES_ACTION, PaymentStatus.REQUIRES_ACTION, ACTION,
        "It was confirmed again, and the customer has to authenticate again: `next_action` has "
        "another address.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_ACTION, PaymentStatus.PROCESSING, PROCESSING,
        "The customer authenticated, and the bank did not answer the authorisation; or it was "
        "confirmed again, and the bank did not say what became of the attempt before. Or the "
        "customer did not come back from a bank that charges by itself, and it does not say.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_ACTION, PaymentStatus.REQUIRES_CAPTURE, CAPTURABLE,
        "The customer authenticated, or it was confirmed again with another card, and the bank "
        "authorised; `capture_method` is `manual`.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_ACTION, PaymentStatus.SUCCEEDED, SUCCEEDED,
        "The customer authenticated, or it was confirmed again with another card, and the bank "
        "charged.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_ACTION, PaymentStatus.REQUIRES_PAYMENT_METHOD, FAILED,
        "The customer did not authenticate, or the bank declined after it, or the customer "
        "did not come back within an hour; or it was confirmed again, and that failed.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_ACTION, PaymentStatus.CANCELED, CANCELED,
        "The merchant canceled it; nothing had been authorised.",
    ),
    StatusChange(
        PaymentStatus.PROCESSING, PaymentStatus.REQUIRES_CAPTURE, CAPTURABLE,
        "The bank says that it authorised; or that a capture, or a cancellation, that it did not "
        "answer was not done.",
    ),
    StatusChange(
        PaymentStatus.PROCESSING, PaymentStatus.SUCCEEDED, SUCCEEDED,
        "The bank says that it charged, or captured.",
    ),
    StatusChange(
        PaymentStatus.PROCESSING, PaymentStatus.REQUIRES_PAYMENT_METHOD, FAILED,
        "The bank says that it charged nothing; or it has released what it refused to capture.",
    ),
    StatusChange(
        PaymentStatus.PROCESSING, PaymentStatus.CANCELED, CANCELED,
        "The bank says that it has released what was authorised, or that it has expired.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CAPTURE, PaymentStatus.SUCCEEDED, SUCCEEDED,
        "The merchant captured it, or a part of it.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CAPTURE, PaymentStatus.PROCESSING, PROCESSING,
        "It was to be captured, or canceled, and the bank did not answer.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CAPTURE, PaymentStatus.REQUIRES_PAYMENT_METHOD, FAILED,
        "The bank refused the capture and released the money.",
    ),
    StatusChange(
        PaymentStatus.REQUIRES_CAPTURE, PaymentStatus.CANCELED, CANCELED,
        "The merchant canceled it, or it was not captured within seven days.",
    ),
), meanings={
    PaymentStatus.REQUIRES_PAYMENT_METHOD: "It waits for a card: none was given yet, or the last "
    "one failed. `last_payment_error` says why.",
    PaymentStatus.REQUIRES_CONFIRMATION: "It has a card, and waits for your confirm.",
    PaymentStatus.REQUIRES_ACTION: "The customer has to authenticate: send them to `next_action`.",
    PaymentStatus.PROCESSING: "The bank has not said how it ended. Do not charge again: an event "
    "follows.",
    PaymentStatus.REQUIRES_CAPTURE: "The bank holds the money for up to seven days: capture it, or "
    "cancel the payment.",
    PaymentStatus.SUCCEEDED: "The card was charged.",
    PaymentStatus.CANCELED: "It ended without a charge.",
})  # fmt: skip
ATTEMPTS = Table("attempt", "intents.Attempt", beginnings=(AttemptStatus.PROCESSING,), changes=(
    StatusChange(
        AttemptStatus.PROCESSING, AttemptStatus.REQUIRES_ACTION, None,
        "The customer has to authenticate.",
    ),
    StatusChange(
        AttemptStatus.PROCESSING, AttemptStatus.AUTHORIZED, None,
        "The bank authorised; `capture_method` is `manual`.",
    ),
    StatusChange(
        AttemptStatus.PROCESSING, AttemptStatus.SUCCEEDED, None,
        "The bank charged.",
    ),
    StatusChange(
        AttemptStatus.PROCESSING, AttemptStatus.FAILED, None,
        "The bank declined, or was not reached, or 3-D Secure failed or could not begin; or a rule "
        "about risk blocked it, and the bank was not asked.",
    ),
    StatusChange(
        AttemptStatus.REQUIRES_ACTION, AttemptStatus.PROCESSING, None,
        "The customer came back, or the payment was confirmed again: the bank is asked. Or the "
        "customer did not come back, and the bank does not say whether it charged.",
    ),
    StatusChange(
        AttemptStatus.REQUIRES_ACTION, AttemptStatus.AUTHORIZED, None,
        "The payment was confirmed again, and the bank says that it had authorised.",
    ),
    StatusChange(
        AttemptStatus.REQUIRES_ACTION, AttemptStatus.SUCCEEDED, None,
        "The payment was confirmed again, and the bank says that it had charged.",
    ),
    StatusChange(
        AttemptStatus.REQUIRES_ACTION, AttemptStatus.ABANDONED, None,
        "The customer did not come back within an hour.",
    ),
    StatusChange(
        AttemptStatus.REQUIRES_ACTION, AttemptStatus.CANCELED, None,
        "The payment was canceled, or confirmed with another card.",
    ),
    StatusChange(
        AttemptStatus.AUTHORIZED, AttemptStatus.SUCCEEDED, None,
        "The money was captured.",
    ),
    StatusChange(
        AttemptStatus.AUTHORIZED, AttemptStatus.FAILED, None,
        "The bank refused the capture, and has released the money.",
    ),
    StatusChange(
        AttemptStatus.AUTHORIZED, AttemptStatus.CANCELED, None,
        "The money was released: the payment was canceled, or the authorisation expired.",
    ),
), meanings={
    AttemptStatus.PROCESSING: "The bank is being asked for the money, or has not said.",
    AttemptStatus.REQUIRES_ACTION: "The customer has to authenticate.",
    AttemptStatus.AUTHORIZED: "The bank keeps the money ready, to be captured or released.",
    AttemptStatus.SUCCEEDED: "The money was taken.",
    AttemptStatus.FAILED: (
        "Nothing was taken: declined, not authenticated, not reached, or its capture was refused."
    ),
    AttemptStatus.ABANDONED: "The customer did not come back from the bank within an hour.",
    AttemptStatus.CANCELED: (
        "Given up for another attempt, or with the payment, or expired before it was captured."
    ),
})  # fmt: skip
MODIFICATIONS = Table("modification", "intents.Modification", beginnings=(
    ModificationStatus.PROCESSING,
), changes=(
    StatusChange(
        ModificationStatus.PROCESSING, ModificationStatus.SUCCEEDED, None,
        "The bank has done it.",
    ),
    StatusChange(
        ModificationStatus.PROCESSING, ModificationStatus.FAILED, None,
        "The bank refused it, or has certainly not done it.",
    ),
    StatusChange(
        ModificationStatus.PROCESSING, ModificationStatus.SUPERSEDED, None,
        "The merchant canceled the payment while an expired authorisation was being released.",
    ),
    StatusChange(
        ModificationStatus.FAILED, ModificationStatus.SUCCEEDED, None,
        "The bank had done it after all, and says so late; the money was still held in the book.",
    ),
))  # fmt: skip
