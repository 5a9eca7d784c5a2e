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


class RiskLevel(TextChoices):
    NORMAL = "normal"
    ELEVATED = "elevated"
    HIGHEST = "highest"
