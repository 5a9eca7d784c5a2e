"""The steps that a key ring has been through, kept in its file with the id of each one's audit row.

A step and its note are one replacement of the file. So the row of a command that was killed
between the file and the database is known, and is written afterwards (`vault.ring_steps`).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from core import context, ids
from core.keyring import dates


class Step(NamedTuple):
    """One step, as its row in the audit log says it.

    :param row: the id of the row.
    :param action: as the audit log names it, such as `key_ring.key_added`.
    :param subject: the id of the key, or of the installation.
    :param at: the moment of the step, in ISO 8601.
    """

    row: str
    action: str
    subject: str
    at: str
    actor: str
    actor_id: str | None
    actor_name: str | None


def new(action: str, subject: str) -> Step:
    """Return a step that is done now, in the name of the current work."""
    actor, at = context.actor(), dates.now().isoformat()
    return Step(ids.new("aud"), action, subject, at, actor.kind.value, actor.id, actor.name)


def note(content: dict[str, Any], *steps: Step | None) -> None:
    """Add steps to the content of a file that is about to be written."""
    if noted := [step._asdict() for step in steps if step]:
        content["steps"] = [*content.get("steps", []), *noted]


def of(content: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return the steps in the content of a file, the first one first; an older file has none."""
    noted = content.get("steps", [])
    return tuple(Step(**{name: one[name] for name in Step._fields}) for one in noted)
