from celery import shared_task

from core import context
from merchants import audit_chains, audit_tallies, owed_mails, unused_accounts
from merchants.sessions import SessionStore


@shared_task
def forget_sessions() -> None:
    SessionStore.clear_expired()


@shared_task
def write_audit_tallies() -> None:
    with context.work():
        audit_tallies.write_due()


@shared_task
def watch_unused_accounts() -> None:
    with context.work():
        unused_accounts.watch()


@shared_task
def send_owed_mails() -> None:
    with context.work():
        owed_mails.send_due()


@shared_task
def log_audit_heads() -> None:
    with context.work():
        audit_chains.log_heads()
