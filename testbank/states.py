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


class AuthenticationState(TextChoices):
    CANNOT_START = "cannot_start"
    CHALLENGED = "challenged"
    AUTHENTICATED = "authenticated"
    NOT_AUTHENTICATED = "not_authenticated"


class Decision(TextChoices):
    """The button that the cardholder pressed; SILENT: authenticated, then the bank is silent."""

    APPROVE = "approve"
    REJECT = "reject"
    SILENT = "silent"
    CANCEL = "cancel"


class RiskLevel(TextChoices):
    NORMAL = "normal"
    ELEVATED = "elevated"
    HIGHEST = "highest"
