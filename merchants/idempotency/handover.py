"""A second sending of a form: what it finds of the first, and a secret that is handed to it.

A browser shows the answer to the last sending alone. A secret is kept nowhere, so the first sending
keeps its page for those that came while it was under way, sealed and for a minute; nobody came:
nothing is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
from django.utils import timezone

from core import prepared
from merchants.idempotency import kept
from merchants.idempotency.claims import OF_CLAIM, current, names, validate
from merchants.models import IdempotencyKey, Merchant

HANDED_OVER_FOR = timedelta(minutes=1)
# One statement each: the row's lock says which of the two came first.
AWAIT = f"""
    UPDATE merchants_idempotencykey SET answer_until = %(until)s::timestamptz
    WHERE {OF_CLAIM} AND response_status IS NULL
"""  # noqa: S608
KEEP = f"""
    UPDATE merchants_idempotencykey
    SET response_status = %(status)s::smallint, is_finished = true,
        sealed_response = CASE WHEN answer_until IS NULL
            THEN %(text)s::bytea ELSE %(page)s::bytea END,
        answer_until = CASE WHEN answer_until IS NULL
            THEN NULL ELSE %(until)s::timestamptz END
    WHERE {OF_CLAIM} AND response_status IS NULL
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Sending:
    """The first sending of a form, as a later one finds it.

    :param object_id: the object that it is about; empty if it has done nothing.
    :param text: what it kept, None as long as it has not answered, and once that is forgotten.
    :param page: its page with a secret, for those that waited for it.
    """

    is_under_way: bool
    object_id: str
    text: str | None = None
    page: str | None = None


def await_page(merchant: Merchant, key: str) -> bool:
    """Ask the sending that is under way to keep its page with a secret; False if none is.

    Call it before `begin`: the first sending may answer at any moment.

    :raises IdempotencyKeyInvalid: there can be no such key.
    """
    validate(key)
    until = _soon()
    values = {"merchant": merchant.id, "key": key, "until": until.isoformat()}
    return bool(prepared.run(AWAIT, values))


def keep_text_or_page(status: int, text: str, page: str) -> None:
    """Keep the answer to a form: its text; beside it the page with a secret, if that is awaited.

    :raises RuntimeError: a use case forgot to `take` the key.
    """
    claim = current()
    if claim is None or not claim.taken:
        raise RuntimeError("this form was answered without claiming its token")
    both = orjson.dumps({"text": text, "page": page})
    values: Mapping[str, object] = {
        **names(claim),
        "status": str(status),
        "text": kept.sealed(text.encode(), claim),
        "page": kept.sealed(both, claim),
        "until": _soon().isoformat(),
    }
    prepared.run(KEEP, values)


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


def forget_page(merchant: Merchant, key: str, text: str) -> bool:
    """Leave the text alone of an answer with a page; False if another one has done so before."""
    row = IdempotencyKey(merchant=merchant, key=key)
    rows = IdempotencyKey.objects.for_merchant(merchant).filter(key=key)
    with_page = rows.filter(answer_until__isnull=False, sealed_response__isnull=False)
    sealed = kept.sealed(text.encode(), row)
    return bool(with_page.update(sealed_response=sealed, answer_until=None))


def _soon() -> datetime:
    return timezone.now() + HANDED_OVER_FOR
