"""Every row of every room that holds something sealed, found by its kind of field."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db.models import Count, F, Func, QuerySet, TextField

from core.fields import SealedField

# How many of the oldest and of the newest rows stand for a column without an index of its keys.
SAMPLE = 100
FEW = 3


class _KeyIdIn(Func):
    """The key id that sealed bytes begin with, as text; empty if they are too short for one."""

    template = (
        "CASE WHEN octet_length(%(expressions)s) < 2 THEN '' ELSE encode(substring("
        "%(expressions)s FROM 3 FOR get_byte(%(expressions)s, 1)), 'escape') END"
    )
    output_field = TextField()


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """One column of sealed bytes."""

    field: SealedField

    @property
    def label(self) -> str:
        return f"{self.field.model._meta.label}.{self.field.name}"

    @property
    def is_indexed(self) -> bool:
        """Return whether the database finds the rows of one key without reading them all."""
        return self.field.key_id_field is not None

    def rows(self) -> QuerySet[Any]:
        """Return the rows that hold something, each with the id of its key in `sealed_with`."""
        holding = {f"{self.field.name}__isnull": False}
        key_id = self.field.key_id_field
        return self.field.model._base_manager.filter(**holding).annotate(
            sealed_with=F(key_id) if key_id else _KeyIdIn(self.field.name)
        )

    def rows_under(self, key_id: str) -> QuerySet[Any]:
        return self.rows().filter(sealed_with=key_id)

    def rows_under_others(self, key_id: str) -> list[QuerySet[Any]]:
        """Return the rows that another key sealed, in querysets that the indexes serve."""
        if not self.is_indexed:
            return [self.rows().exclude(sealed_with=key_id)]
        return [self.rows_under(other) for other in self._key_ids() if other != key_id]

    def counts(self) -> dict[str, int]:
        """Return how many rows each key seals; reads them all."""
        rows = self.rows().order_by().values_list("sealed_with").annotate(count=Count("pk"))
        return dict(rows)

    def known_key_ids(self) -> set[str]:
        """Return the ids of the keys in use, within milliseconds however many rows there are.

        All of them if they are indexed, else those of the oldest and the newest rows.
        """
        return set(self._key_ids()) if self.is_indexed else {key for _pk, key in self._ends()}

    def samples(self, key_id: str) -> list[Any]:
        """Return a few of the oldest and of the newest known rows of a key."""
        if self.is_indexed:
            rows = self.rows_under(key_id)
            return [*rows.order_by("pk")[:FEW], *rows.order_by("-pk")[:FEW]]
        known = [pk for pk, key in self._ends() if key == key_id]
        return list(self.rows().filter(pk__in=known[:FEW] + known[-FEW:]))

    def _ends(self) -> list[tuple[Any, str]]:
        """Return primary keys and key ids of the oldest and of the newest rows."""
        rows = self.rows().values_list("pk", "sealed_with")
        return [*rows.order_by("pk")[:SAMPLE], *reversed(rows.order_by("-pk")[:SAMPLE])]

    def _key_ids(self) -> Iterator[str]:
        # From one id to the next along the index: DISTINCT would read every row of it.
        last = ""
        rows = self.rows().order_by("sealed_with").values_list("sealed_with", flat=True)
        while (found := rows.filter(sealed_with__gt=last).first()) is not None:
            yield found
            last = found


def columns() -> list[SealedColumn]:
    """Return all columns of sealed bytes, those of the rooms above included."""
    return [
        SealedColumn(field)
        for model in apps.get_models()
        for field in model._meta.local_concrete_fields
        if isinstance(field, SealedField)
    ]
