"""The audit log has the door at which each entry was written last: entries note it."""

from typing import Any

from django.db import migrations

CHUNK = 1000


def note_doors(apps: Any, _schema_editor: Any) -> None:
    """Note of each entry whether an operator wrote it; may be repeated.

    An entry of which the audit log has nothing stays null.
    """
    added = apps.get_model("merchants", "AuditEntry").objects.filter(action="list_entry.added")
    # All rows of an entry are in one chain, so its last one wins.
    last = dict(added.order_by("sequence").values_list("subject", "actor"))
    unknown = apps.get_model("risk", "ListEntry").objects.filter(by_operator=None)
    for by_operator in (True, False):
        ids = [int(entry) for entry, actor in last.items() if (actor != "user") is by_operator]
        for start in range(0, len(ids), CHUNK):
            some = ids[start : start + CHUNK]
            unknown.filter(pk__in=some).update(by_operator=by_operator)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("risk", "0002_by_operator"), ("merchants", "0001_initial")]

    operations = [migrations.RunPython(note_doors, migrations.RunPython.noop)]
