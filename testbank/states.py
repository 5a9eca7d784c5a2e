"""States of the bank's book: they hold even where the bank never answered."""

from django.db.models import TextChoices


class State(TextChoices):
    AUTHORIZED = "authorized"
    DECLINED = "declined"
    BLOCKED = "blocked"
    DEMANDED_AUTHENTICATION = "demanded_authentication"
    PENDING = "pending"
    VOIDED = "voided"
    LAPSED = "lapsed"


class RefundState(TextChoices):
    PENDING = "pending"
    REFUNDED = "refunded"
    REFUSED = "refused"
    BOUNCED = "bounced"


class DisputeState(TextChoices):
    """States of a dispute; an inquiry is a question before it, and moves no money."""

    TO_COME = "to_come"  # The cardholder will complain, and has not yet.
    DROPPED = "dropped"  # There was nothing left to complain about.
    INQUIRY = "inquiry"
    CLOSED = "closed"  # An inquiry that ended.
    OPEN = "open"
    WON = "won"
    LOST = "lost"
    ACCEPTED = "accepted"  # Lost, because the merchant gave it up.
    REGAINED = "regained"  # Won after it was lost.


class EvidenceVerdict(TextChoices):
    """The decision that evidence leads to by itself."""

    WON = "won"
    LOST = "lost"


class NoticeKind(TextChoices):
    DISPUTE_OPENED = "dispute_opened"
    INQUIRY_OPENED = "inquiry_opened"
    DISPUTE_ESCALATED = "dispute_escalated"
    DISPUTE_WON = "dispute_won"
    DISPUTE_LOST = "dispute_lost"
    DISPUTE_REGAINED = "dispute_regained"
    INQUIRY_CLOSED = "inquiry_closed"
    REFUND_BOUNCED = "refund_bounced"
    FRAUD_WARNING = "fraud_warning"


class TransferState(TextChoices):
    PENDING = "pending"  # Accepted, and on its way to the other bank.
    PAID = "paid"
    FAILED = "failed"
    RETURNED = "returned"  # Paid once; the other bank sent it back.


class IncomingState(TextChoices):
    PENDING = "pending"  # On its way.
    RECEIVED = "received"
    REFUSED = "refused"  # It never came.
    REVERSED = "reversed"  # It came, and was taken back.


class TransferNoticeKind(TextChoices):
    TRANSFER_PAID = "transfer_paid"
    TRANSFER_FAILED = "transfer_failed"
    TRANSFER_RETURNED = "transfer_returned"
    TRANSFER_RECEIVED = "transfer_received"
    TRANSFER_REFUSED = "transfer_refused"
    TRANSFER_REVERSED = "transfer_reversed"


class AuthenticationState(TextChoices):
    CANNOT_START = "cannot_start"
    CHALLENGED = "challenged"
    AUTHENTICATED = "authenticated"
    NOT_AUTHENTICATED = "not_authenticated"


class CardholderChoice(TextChoices):
    """The button that the cardholder pressed; SILENT: authenticated, then the bank is silent."""

    APPROVE = "approve"
    REJECT = "reject"
    SILENT = "silent"
    CANCEL = "cancel"


class TransactionKind(TextChoices):
    """Kinds of transactions of the Garanti doors, by the protocol's own names."""

    SALES = "sales"
    PREAUTH = "preauth"
    POSTAUTH = "postauth"
    VOID = "void"
    REFUND = "refund"


class RiskLevel(TextChoices):
    NORMAL = "normal"
    ELEVATED = "elevated"
    HIGHEST = "highest"
