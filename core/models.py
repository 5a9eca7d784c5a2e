from django.db import models


class Clock(models.Model):
    """How far the sandbox's now is ahead of real time; no row means not at all."""

    id = models.SmallIntegerField(primary_key=True, default=1, editable=False)
    offset_seconds = models.FloatField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_clock"),
        ]
