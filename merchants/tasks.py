from celery import shared_task

from core import context
from merchants import audit_chains, idempotency, request_logs
from merchants.sessions import SessionStore


@shared_task
def forget_idempotency_keys() -> None:
    idempotency.forget_old()


@shared_task
def forget_request_logs() -> None:
    request_logs.forget_old()


@shared_task
def forget_sessions() -> None:
    SessionStore.clear_expired()


@shared_task
def log_audit_heads() -> None:
    with context.work():
        audit_chains.log_heads()
