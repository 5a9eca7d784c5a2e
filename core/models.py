from django.contrib.postgres.fields import ArrayField
from django.db import models

from core.fields import CodeField, id_field
from core.heartbeat import KINDS


class Clock(models.Model):
    """How far the sandbox's now is ahead of real time; no row means not at all."""

    id = models.SmallIntegerField(primary_key=True, default=1, editable=False)
    offset_seconds = models.FloatField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_clock"),
        ]


class Installation(models.Model):
    """The database's own place, and whether it is held; `core.installation` asks for it."""

    id = models.SmallIntegerField(primary_key=True, default=1, editable=False)
    # Random: it stays with the database's dumps, and the file with the mark has it too.
    identity = CodeField(max_length=40)
    place = CodeField(max_length=100)
    held_at = models.DateTimeField(null=True)
    held_reason = models.TextField(null=True)
    held_place = CodeField(max_length=100, null=True)
    opened_at = models.DateTimeField(null=True)
    # At the newest mark: each commit waits for a standby (`SYNCHRONOUS_STANDBYS`).
    is_waited_for = models.BooleanField(default=False, db_default=False)
    # The newest backup that was reported (`manage.py backup_made`).
    backup_made_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_installation"),
        ]


class Mark(models.Model):
    """A random number that beat has written to the database and to a file on its host."""

    number = CodeField(max_length=40, primary_key=True)
    made_at = models.DateTimeField()


class Process(models.Model):
    """A process of the service and the key ring that it has read; `core.heartbeat` writes it.

    Its moments are of the database's real clock, for hosts' clocks differ.
    """

    id = id_field()
    kind = CodeField(max_length=20)
    host = CodeField(max_length=255)
    release = CodeField(max_length=100)
    # All keys that it opens with, the one that it seals with, and the primary ones of purposes.
    key_ids = ArrayField(CodeField(max_length=255))
    primary_key_id = CodeField(max_length=255)
    purpose_key_ids = ArrayField(CodeField(max_length=255), db_default=[])
    # Of all keys those that are retired: no process that starts may make hashes with them.
    retired_key_ids = ArrayField(CodeField(max_length=255), db_default=[])
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(kind__in=KINDS), name="a_process_is_of_a_known_kind"
            ),
        ]
