"""What the bank really did with an authorisation, whether or not it said so."""

from django.db.models import TextChoices


class State(TextChoices):
    AUTHORIZED = "authorized"
    DECLINED = "declined"
    BLOCKED = "blocked"
    DEMANDED_AUTHENTICATION = "demanded_authentication"
    PENDING = "pending"
    VOIDED = "voided"
    LAPSED = "lapsed"


class AuthenticationState(TextChoices):
    CANNOT_START = "cannot_start"
    CHALLENGED = "challenged"
    AUTHENTICATED = "authenticated"
    NOT_AUTHENTICATED = "not_authenticated"


class Decision(TextChoices):
    """What the cardholder pressed. Silent: authenticated, and then the bank does not answer."""

    APPROVE = "approve"
    REJECT = "reject"
    SILENT = "silent"
    CANCEL = "cancel"


class RiskLevel(TextChoices):
    NORMAL = "normal"
    ELEVATED = "elevated"
    HIGHEST = "highest"
