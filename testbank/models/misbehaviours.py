"""Misbehaviour of the bank that was asked for, and that waits for its requests."""

from django.db import models
from django.db.models import Q


class Misbehaviour(models.Model):
    """One kind of misbehaviour, and how often it is still to happen.

    :ivar on: the type of request that it waits for; empty for the next that it fits.
    """

    kind = models.CharField(max_length=40)
    on = models.CharField(max_length=16, blank=True)
    times_left = models.IntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(times_left__gte=0), name="bank_misbehaves_as_often_as_asked"
            ),
        ]

    def __str__(self) -> str:
        return self.kind
