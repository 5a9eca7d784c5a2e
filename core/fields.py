"""Model fields that several rooms share."""

from typing import Any

from django.db import models


def id_field(**options: Any) -> models.CharField:
    """Return a primary key of our own ids; collation C, so that order is byte order everywhere."""
    return models.CharField(
        primary_key=True, max_length=40, db_collation="C", editable=False, **options
    )
