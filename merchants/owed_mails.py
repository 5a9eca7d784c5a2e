"""Notices that are owed until the mail server has taken them, each with the time when it is due.

The change that a notice is about owes it in its own transaction. A job sends it when it is due,
and asks then whether there is still something to say: a dispute may be answered by then.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core import clock, context, installation
from core.names import email_key
from core.one_by_one import alone
from merchants import notices
from merchants.models import Merchant, OwedMail
from merchants.notices import Letter, MailKind

# A process that takes a mail has this long to send it before another one tries (real time).
LEASE = timedelta(minutes=10)

# A mail server that still refuses a mail so long after its time will not take it.
GIVE_UP_AFTER = timedelta(days=3)

# The letter about a thing as it is now; None if there is nothing to say any more.
Writing = Callable[[Merchant, str], Letter | None]

_writing: dict[str, Writing] = {}
log = structlog.get_logger(__name__)


def register(kind: MailKind, writing: Writing) -> None:
    """Name the function that writes the letters of a kind."""
    _writing[kind] = writing


def owe(merchant: Merchant, kind: MailKind, subject: str, *, due_at: datetime) -> None:
    """Owe a notice in the caller's transaction; the same kind about the same thing replaces it.

    :param subject: the id of the thing.
    :param due_at: in the movable clock.
    """
    row = OwedMail(merchant=merchant, kind=kind, subject=subject, due_at=due_at)
    OwedMail.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["merchant", "kind", "subject"],
        update_fields=["due_at", "leased_until", "sent_to"],
    )


def send_due() -> int:
    """Send the mails that are due; return how many the mail server took.

    Each is sent once, however often the job is killed or repeated. After a crash between sending
    and noting that, it is sent again under the same `Message-ID`, by which mailboxes know it.
    """
    sent = 0
    while not installation.is_held() and context.remaining_seconds() > 0:
        owed = _take()
        if owed is None:
            break
        with alone("letter_failed", merchant=owed.merchant_id):
            sent += _send(owed)
    return sent


@transaction.atomic(durable=True)
def _take() -> OwedMail | None:
    """Return a due mail; other processes leave it alone for ten minutes."""
    now = timezone.now()
    free = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    due = OwedMail.objects.filter(free, due_at__lte=clock.now()).select_related("merchant")
    locked = due.select_for_update(of=("self",), skip_locked=True)
    owed: OwedMail | None = locked.order_by("due_at").first()
    if owed is not None:
        owed.leased_until = now + LEASE
        owed.save(update_fields=["leased_until"])
    return owed


def _send(owed: OwedMail) -> int:
    """Send the mails of one notice with no transaction open; return how many the server took."""
    letter = _writing[owed.kind](owed.merchant, owed.subject)
    served = {email_key(one) for one in owed.sent_to}
    to = notices.readers(owed.merchant, MailKind(owed.kind)) if letter else []
    left = [reader for reader in to if email_key(reader.address) not in served]
    mails = [*notices.written(letter, left)] if letter else []
    taken = [one for one in mails if _post(owed, one)]
    is_late = clock.now() - owed.due_at > GIVE_UP_AFTER
    if is_late and len(taken) < len(mails):
        log.warning("mail_given_up", kind=owed.kind, subject=owed.subject)
    _note(owed, served, taken, is_over=is_late or len(taken) == len(mails))
    return len(taken)


def _post(owed: OwedMail, mail: EmailMessage) -> bool:
    """Hand a mail to the server; return whether it is done with, taken or refused for good."""
    host = urlsplit(settings.PANEL_URL).hostname
    due = f"{owed.due_at.timestamp():.0f}"
    mail.extra_headers["Message-ID"] = f"<{owed.kind}.{owed.subject}.{due}@{host}>"
    return notices.post(mail, kind=owed.kind, subject=owed.subject)


def _note(owed: OwedMail, served: set[str], taken: list[EmailMessage], *, is_over: bool) -> None:
    # One that was owed again since it was taken has no lease, and stays.
    mine = OwedMail.objects.filter(pk=owed.pk, leased_until=owed.leased_until)
    if is_over:
        mine.delete()
    elif taken:
        mine.update(sent_to=[*served, *(email_key(mail.to[0]) for mail in taken)])
