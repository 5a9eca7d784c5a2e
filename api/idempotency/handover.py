"""Forms that are sent again: what a later sending finds of the first one."""

from dataclasses import dataclass

import orjson
from django.utils import timezone

from api.idempotency import kept
from merchants.models import IdempotencyKey, Merchant


@dataclass(frozen=True, slots=True)
class Sending:
    """The first sending of a form, as a later one finds it.

    :param object_id: the object that it is about; empty if it has done nothing.
    :param text: what it kept, None as long as it has not answered, and once that is forgotten.
    :param page: its page with a secret, as it was kept.
    """

    is_under_way: bool
    object_id: str
    text: str | None = None
    page: str | None = None


def with_page(text: str, page: str) -> bytes:
    """Return what is kept of an answer: its text, and its page with a secret."""
    return orjson.dumps({"text": text, "page": page})


def opened(answer: bytes) -> tuple[str, str | None]:
    """Return the text of a kept answer to a form, and its page if that was kept too."""
    if not answer.startswith(b"{"):
        return answer.decode(), None
    both = orjson.loads(answer)
    return both["text"], both["page"]


def find(merchant: Merchant, key: str) -> Sending | None:
    """Return the first sending by its key; None if there is none, or it was refused."""
    row = IdempotencyKey.objects.for_merchant(merchant).filter(key=key).first()
    if row is None:
        return None
    now = timezone.now()
    object_id = row.object_id or ""
    if row.response_status is None:
        return Sending(not row.is_finished and row.lease_until > now, object_id)
    if row.sealed_response is None or (row.answer_until and row.answer_until <= now):
        return Sending(False, object_id)
    return Sending(False, object_id, *opened(kept.Replayed(row).body))
