"""Texts that people, payers and receivers stored, and that would run in a page that trusts them."""

from typing import Any

from django.apps import apps
from django.db import models

from tests.stage.database_role import past_guards

SCRIPT, IMAGE = "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'
# No page may have the beginnings of the two as they are.
HOSTILE = ("<script>alert", '"><img src=x')
TEXT = f"{SCRIPT}{IMAGE}"
# Columns that hold what somebody wrote, by their names; others hold ids, states and codes.
WRITTEN = {
    "name", "legal_name", "description", "metadata", "user_agent", "path", "query", "text", "note",
    "response_excerpt", "browser", "evidence", "statement_descriptor", "holder_name", "phone",
    "request_body", "response_body", "idempotency_key", "billing_details", "address", "shipping",
    "actor_name", "reason_text", "body_text", "client_reference_id", "customer_details",
}  # fmt: skip
OURS = ("merchants", "customers", "intents", "webhooks", "disputes", "payouts", "topups", "events",
        "refunds", "checkout")  # fmt: skip


def make_hostile() -> int:
    """Write a hostile text wherever somebody may have written one; return into how many columns.

    Guards of the database are for the service's own writes: they are off meanwhile.
    """
    found = 0
    with past_guards():
        for model in apps.get_models():
            if model._meta.app_label in OURS:
                found += sum(_written(model, field) for field in model._meta.local_concrete_fields)
    return found


def _written(model: type[models.Model], field: Any) -> bool:
    if field.name not in WRITTEN:
        return False
    if isinstance(field, models.JSONField):
        value: Any = {"note": TEXT}
    elif isinstance(field, models.CharField | models.TextField) and not field.choices:
        value = TEXT[: field.max_length or None]
    else:
        return False
    rows = model._default_manager.all()
    if (
        field.name == "customer_details"
    ):  # They are there once a session is complete, and then only.
        rows = rows.filter(customer_details__isnull=False)
    return rows.update(**{field.name: value}) > 0
