"""Refusals of an `Idempotency-Key` (contract 6)."""

import math
from datetime import datetime

from django.utils import timezone

from core.errors import DomainError


class IdempotencyKeyInvalid(DomainError):
    code = "idempotency_key_invalid"
    message = (
        "An Idempotency-Key has 1 to 255 printable ASCII characters and is no card number and no "
        "secret key."
    )
    param = "Idempotency-Key"


class IdempotencyKeyReused(DomainError):
    code = "idempotency_key_reused"
    message = "The Idempotency-Key was used for another request."


class NoLongerKept(IdempotencyKeyReused):
    """The first answer held a secret and is forgotten.

    :param object_id: the object that the request was about.
    """

    message = "The first answer held a secret and is no longer kept."

    def __init__(self, object_id: str = "") -> None:
        super().__init__()
        self.object_id = object_id


class IdempotencyKeyInUse(DomainError):
    code = "idempotency_key_in_use"
    http_status = 409
    message = "A request with this Idempotency-Key is still under way."
    retry_after_seconds = 2

    def __init__(self, *, until: datetime | None = None) -> None:
        """:param until: when the lease of a first request that has died ends (real time).

        None while it may be running: then it is answered shortly.
        """
        super().__init__()
        if until is not None:
            rest = (until - timezone.now()).total_seconds()
            self.retry_after_seconds = max(1, math.ceil(rest))
