from celery import shared_task

from merchants import idempotency


@shared_task
def forget_idempotency_keys() -> None:
    idempotency.forget_old()
