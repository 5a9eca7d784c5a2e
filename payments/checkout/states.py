"""The states of a checkout session, and which change emits which event (contract: Checkout)."""

from django.db import models

from events.transitions import StatusChange, Table
from payments.intents.states import PaymentStatus


class SessionStatus(models.TextChoices):
    """`checkout.session.status`."""

    OPEN = "open"
    COMPLETE = "complete"
    EXPIRED = "expired"


class ExpirationReason(models.TextChoices):
    """`checkout.session.expiration_reason`."""

    TIME = "time"
    API = "api"
    TOO_MANY_TRIES = "too_many_tries"
    PAYMENT_CANCELED = "payment_canceled"


class Locale(models.TextChoices):
    """`checkout.session.locale`: the page's language; `auto` is the browser's."""

    AUTO = "auto"
    TURKISH = "tr"
    ENGLISH = "en"


class Authentication(models.TextChoices):
    """3-D Secure, as far as the payer's own page may ask for it."""

    AUTOMATIC = "automatic"
    REQUIRED = "required"


# The statuses of a payment that complete its open session.
COMPLETES_A_SESSION = (PaymentStatus.SUCCEEDED, PaymentStatus.REQUIRES_CAPTURE)
COMPLETED = "checkout.session.completed"
EXPIRED = "checkout.session.expired"

# Every allowed change of status, with its event. The database's trigger knows the same pairs
# (migration 0002), and the page of states is made from this table.
SESSIONS = Table(
    "checkout_session",
    "checkout.CheckoutSession",
    beginnings=(SessionStatus.OPEN,),
    changes=(
        StatusChange(
            SessionStatus.OPEN, SessionStatus.COMPLETE, COMPLETED,
            "Its payment was charged, or authorised with `capture_method` `manual`.",
        ),
        StatusChange(
            SessionStatus.OPEN, SessionStatus.EXPIRED, EXPIRED,
            "Its time was over, you ended it, or its payment was canceled: see "
            "`expiration_reason`.",
        ),
    ),
    meanings={
        SessionStatus.OPEN: "The payment can be made.",
        SessionStatus.COMPLETE: "The payment was made. See `payment_status` for the money.",
        SessionStatus.EXPIRED: "It has ended without a payment: see `expiration_reason`.",
    },
)  # fmt: skip
