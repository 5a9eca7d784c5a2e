"""Mails to merchants about endpoints that are in trouble, or became `failing` (contract 9)."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core import local_days
from merchants import notices
from webhooks import health
from webhooks.models import Delivery, Endpoint

# A process that takes a mail has this long to send it before another one tries (real time).
LEASE = timedelta(minutes=10)
SUBJECT = _("Your webhook endpoint is failing")
TEMPLATE = "webhooks/failing.txt"
IN_TROUBLE, TROUBLE_TEMPLATE = _("Your webhook endpoint does not answer"), "webhooks/trouble.txt"
COUNT_MAX = 10_000


def send_due() -> int:
    """Send the due mails and return how many the mail server took.

    Each time that an endpoint gets into trouble or becomes `failing`, each address of its
    merchant's that wants such notices gets one mail. Mails that the server refuses are tried again
    after ten minutes. After a crash between sending them and writing that down they are sent twice.
    """
    sent = 0
    while (endpoint := _take()) is not None:
        sent += _send(endpoint)
    return sent


@transaction.atomic(durable=True)
def _take() -> Endpoint | None:
    """Return an endpoint with a due mail; other processes leave it alone for ten minutes."""
    due = Endpoint.objects.filter(mail_due_at__lte=timezone.now()).select_related("merchant")
    locked = due.select_for_update(of=("self",), no_key=True, skip_locked=True)
    endpoint = locked.order_by("mail_due_at").first()
    if endpoint is not None:
        endpoint.mail_due_at = timezone.now() + LEASE
        endpoint.save(update_fields=["mail_due_at"])
    return endpoint


def _send(endpoint: Endpoint) -> int:
    """Send an endpoint's mails with no transaction open; return how many the server took."""
    leased_until = endpoint.mail_due_at
    readers = notices.readers(endpoint.merchant, notices.MailKind.ENDPOINT_FAILING)
    mails = notices.written(_letter(endpoint), readers)
    sent = [notices.post(mail, endpoint=endpoint.id) for mail in mails]
    if all(sent):
        _note_sent(endpoint, leased_until)
    return sum(sent)


def _note_sent(endpoint: Endpoint, leased_until: datetime | None) -> None:
    # An endpoint that became `failing` again meanwhile has another time here, and is owed a mail.
    Endpoint.objects.filter(id=endpoint.id, mail_due_at=leased_until).update(mail_due_at=None)


def _letter(endpoint: Endpoint) -> notices.Letter:
    page = reverse("panel:endpoint", args=[endpoint.merchant_id, endpoint.id])
    facts: dict[str, Any] = {
        "endpoint": endpoint,
        "base_url": settings.BASE_URL,
        "page": f"{settings.PANEL_URL}{page}",
        "error": _last_error(endpoint),
    }
    if endpoint.status == Endpoint.Status.FAILING:
        facts["stopped"] = _stopped(endpoint)
        return notices.Letter(SUBJECT, TEMPLATE, facts)
    waiting = health.waiting([endpoint])[endpoint.id]
    facts["waiting"] = f"{health.WAITING_MAX}+" if waiting.is_capped else waiting.number
    if waiting.ends_at:
        facts["ends_at"] = local_days.shown(waiting.ends_at, endpoint.merchant.timezone)
    return notices.Letter(IN_TROUBLE, TROUBLE_TEMPLATE, facts)


def _last_error(endpoint: Endpoint) -> str:
    failed = Delivery.objects.filter(endpoint=endpoint, status=Delivery.Status.FAILED)
    last = failed.order_by("-id").first()
    if last is None or last.response_status is None:
        return (last.error if last else None) or "unknown"
    return f"{last.error}, status {last.response_status}"


def _stopped(endpoint: Endpoint) -> str:
    """Count the missed deliveries and the pending ones, which will be canceled, up to 10,000."""
    owed = Q(is_missed=True) | Q(status=Delivery.Status.PENDING)
    rows = Delivery.objects.filter(owed, endpoint=endpoint)
    rows = rows.exclude(trigger=Delivery.Trigger.RESEND)
    count = rows.order_by()[: COUNT_MAX + 1].count()
    return f"{COUNT_MAX}+" if count > COUNT_MAX else str(count)
