"""The answer that a key keeps: sealed, for it may hold people's data, and given to every retry."""

from datetime import timedelta
from typing import Protocol

from django.utils import timezone

from api.idempotency.refusals import NoLongerKept
from core import context
from core.keyring import ring
from core.metrics import Counter, Label
from merchants.models import IdempotencyKey

KEYS = Counter(
    "pay_idempotency_total",
    "Requests whose key was known: replayed answers, and work taken over from one that died.",
    ended=Label("replayed", "taken_over"),
)
SECRET_ANSWER_LIFE = timedelta(minutes=15)


class Owner(Protocol):
    """A claim of a key, or its row."""

    @property
    def merchant_id(self) -> str: ...

    @property
    def key(self) -> str: ...


class Replayed(Exception):
    """The first request's answer, instead of a second effect."""

    def __init__(self, row: IdempotencyKey) -> None:
        self.status: int = row.response_status or 200
        self.body = ring().open(bytes(row.sealed_response or b""), context=_context(row))
        self.headers = headers(row.request_id)
        super().__init__("replayed")


def headers(request_id: str) -> dict[str, str]:
    """Return the headers of an answer that repeats another request's; none of one's own."""
    if request_id == context.request_id():
        return {}
    return {"Idempotent-Replayed": "true", "Original-Request": request_id}


def sealed(answer: bytes, owner: Owner) -> bytes:
    """Seal an answer for the row of a key, and no other."""
    return ring().seal(answer, context=_context(owner))


def replay(row: IdempotencyKey) -> None:
    """Raise the stored answer, if there is one.

    :raises Replayed: the request was answered.
    :raises NoLongerKept: the answer held a secret, and is no longer kept.
    """
    if row.response_status is None:
        return
    is_over = row.answer_until is not None and row.answer_until <= timezone.now()
    if is_over or row.sealed_response is None:
        raise NoLongerKept(row.object_id or "")
    KEYS.count("replayed")
    raise Replayed(row)


def _context(owner: Owner) -> str:
    return IdempotencyKey(merchant_id=owner.merchant_id, key=owner.key).seal_context
