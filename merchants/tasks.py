from celery import shared_task

from merchants import idempotency, request_logs, sign_in
from merchants.sessions import SessionStore


@shared_task
def forget_idempotency_keys() -> None:
    idempotency.forget_old()


@shared_task
def forget_request_logs() -> None:
    request_logs.forget_old()


@shared_task
def forget_sign_ins() -> None:
    sign_in.forget_old()
    SessionStore.clear_expired()
