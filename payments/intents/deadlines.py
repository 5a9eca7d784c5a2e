"""The deadlines of payers and authorisations, in the movable clock (contract 3).

The bank counts from the request that it got. Its answer may be heard, or a person may decide, days
later.
"""

from datetime import datetime, timedelta

from django.db.models import Case, F, When

from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import ModificationKind, ModificationStatus

PAYER_HAS = timedelta(hours=1)
AUTHORIZATION_LIVES = timedelta(days=7)


def expires_at(attempt: Attempt) -> datetime:
    """Return the end of an authorisation, 7 days after the bank was asked for it.

    A capture is refused then.
    """
    return _asked_at(attempt) + AUTHORIZATION_LIVES


def money_asked_at(attempt: Attempt) -> datetime:
    """Return when the bank was asked to take the money that it has taken of an attempt."""
    if attempt.capture_method == PaymentIntent.CaptureMethod.AUTOMATIC:
        return _asked_at(attempt)
    captures = attempt.modifications.filter(kind=ModificationKind.CAPTURE)
    return captures.get(status=ModificationStatus.SUCCEEDED).asked_at


# A payer came back without an answer that decides, or has not come back, and the bank is asked from
# then on: its gate may have charged the card before, at any time since the attempt began.
ASKED_AT = Case(
    When(authenticated_at__isnull=False, md_status__isnull=True, then=F("created_at")),
    When(hand_off__charges=True, then=F("created_at")),
    default=F("asked_at"),
)


def _asked_at(attempt: Attempt) -> datetime:
    # As `ASKED_AT` has it of rows.
    came_back = attempt.authenticated_at is not None and attempt.md_status is None
    was_at_a_gate = came_back or bool((attempt.hand_off or {}).get("charges"))
    return attempt.created_at if was_at_a_gate else attempt.asked_at
