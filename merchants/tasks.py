from celery import shared_task

from core import context
from merchants import audit_chains
from merchants.sessions import SessionStore


@shared_task
def forget_sessions() -> None:
    SessionStore.clear_expired()


@shared_task
def log_audit_heads() -> None:
    with context.work():
        audit_chains.log_heads()
