from collections.abc import Iterable
from typing import Self

from django.db import models

from core.fields import CodeField, id_field
from core.querysets import MerchantManager, MerchantRows


class EventRows(MerchantRows):
    """Events of merchants.

    `types` are those that are looked at, None for all: a list walks through the index of each
    (`events.filters`), however many events of other types lie between.
    """

    types: tuple[str, ...] | None = None

    def of_types(self, types: Iterable[str]) -> Self:
        found = tuple(types)
        rows = self.filter(type__in=found)
        rows.types = found
        return rows

    def _clone(self) -> Self:
        clone = super()._clone()
        clone.types = self.types
        return clone


_Manager = models.Manager.from_queryset(EventRows)


class EventManager(_Manager):
    """The manager of events; named, for the reason in `core.querysets`."""


class Event(models.Model):
    """One change of one object: immutable, its body frozen as bytes."""

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    type = models.CharField(max_length=60)
    aggregate_type = models.CharField(max_length=40)
    aggregate_id = CodeField(max_length=40)
    sequence = models.PositiveIntegerField()
    request_id = models.CharField(max_length=40)
    body = models.BinaryField()
    created_at = models.DateTimeField()

    objects = EventManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["aggregate_id", "sequence", "merchant"],
                name="one_event_per_object_and_sequence",
            ),
            # A composite foreign key (merchant, event) points at this.
            models.UniqueConstraint(fields=["id", "merchant"], name="an_event_has_one_merchant"),
        ]
        indexes = [
            models.Index(fields=["merchant", "created_at", "id"], name="events_of_a_merchant"),
            models.Index(fields=["merchant", "type", "created_at", "id"], name="events_by_type"),
            models.Index(fields=["request_id"], name="events_of_a_request"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.aggregate_id} #{self.sequence}"


class Counter(models.Model):
    """The last sequence given out for an object; outlives pruned events."""

    pk = models.CompositePrimaryKey("aggregate_id", "merchant_id")
    aggregate_id = CodeField(max_length=40)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    last = models.PositiveIntegerField()

    objects = MerchantManager()


class Jump(models.Model):
    """Numbers of an object that no event has: a restored copy left them out (`events.jumps`)."""

    pk = models.CompositePrimaryKey("aggregate_id", "merchant_id", "after")
    aggregate_id = CodeField(max_length=40)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    # The last number before, and the last one that was left out.
    after = models.PositiveIntegerField()
    upto = models.PositiveIntegerField()
    restored_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(upto__gt=models.F("after")), name="a_jump_leaves_numbers_out"
            ),
        ]
