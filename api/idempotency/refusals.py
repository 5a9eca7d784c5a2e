"""Refusals of an `Idempotency-Key` (contract 6)."""

import math
from datetime import datetime

from django.utils import timezone

from core.errors import DomainError, Explained


class IdempotencyKeyInvalid(DomainError):
    explained = Explained(
        cause=(
            "The `Idempotency-Key` is empty, too long, not printable ASCII, sent twice, or it holds"
            " a card number or a secret key."
        ),
        remedy="Send one text of 1 to 255 characters, such as your order's number or a UUID.",
    )
    code = "idempotency_key_invalid"
    message = (
        "An Idempotency-Key has 1 to 255 printable ASCII characters and is no card number and no "
        "secret key."
    )
    param = "Idempotency-Key"


class IdempotencyKeyReused(DomainError):
    explained = Explained(
        cause=(
            "An earlier request had the same `Idempotency-Key`, and another method, path, body "
            "or `expand[]` in its query. Nothing was done. An answer that showed a secret is also "
            "not repeated after 15 minutes."
        ),
        remedy=(
            "Use a new key for each operation. Use the same key only to repeat one request as it "
            "was."
        ),
    )
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
    explained = Explained(
        cause="The first request with this `Idempotency-Key` is still at work.",
        remedy=(
            "Wait as many seconds as `Retry-After` says and send the same request with the same "
            "key: you get the answer of the first one."
        ),
    )
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
