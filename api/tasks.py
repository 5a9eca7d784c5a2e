from celery import shared_task

from api import idempotency, request_logs


@shared_task
def forget_idempotency_keys() -> None:
    idempotency.forget_old()


@shared_task
def forget_request_logs() -> None:
    request_logs.forget_old()
