"""The merchants that the tests are given are what an opened account is."""

from typing import Any

import pytest
from django.apps import apps
from django.db import transaction

from tests.stage import factories
from tests.stage.factories import open_merchant

# The log tells how an account came about, and the second one did not come by being opened.
# Processes that run beside a test beat as they like.
NOT_WRITTEN_AGAIN = {"merchants.AuditEntry", "merchants.AuditHead", "core.Process"}
OF_ITS_OWN = {"id", "merchant", "user", "created_by", "created_at", "hash", "last4"}

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


def rows_after_opening(name: str) -> dict[str, list[dict[str, Any]]]:
    """Open a merchant, return the rows of every table, and take them back."""
    with transaction.atomic():
        open_merchant(name, website=f"https://{name}.example")
        rows = {model._meta.label: _values(model) for model in _compared()}
        transaction.set_rollback(True)
    return rows


def _compared() -> list[Any]:
    return [model for model in apps.get_models() if model._meta.label not in NOT_WRITTEN_AGAIN]


def _values(model: Any) -> list[dict[str, Any]]:
    compared = {field.name for field in model._meta.fields} - OF_ITS_OWN
    return list(model.objects.order_by("pk").values(*compared))


def test_a_merchant_that_is_written_again_has_the_rows_of_an_opened_account() -> None:
    opened = rows_after_opening("initech")

    again = rows_after_opening("initech")

    assert again == opened
    assert sum(map(len, again.values())) > 8, "nothing compared"


def test_the_check_sees_a_row_that_is_not_written_again() -> None:
    opened = rows_after_opening("hooli")
    factories._templates["hooli", "https://hooli.example"].rows.pop()

    assert rows_after_opening("hooli") != opened


def test_each_has_an_id_and_a_key_of_its_own() -> None:
    first, second = (open_merchant("Initech", website="https://initech.example") for _ in "12")

    assert first.merchant.id != second.merchant.id
    assert first.secret_key != second.secret_key
