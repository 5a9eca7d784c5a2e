"""Write docs/reference/states.md from the tables of statuses."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from events import transitions
from events.transitions import Table

PATH = settings.BASE_DIR / "docs" / "reference" / "states.md"
TOP = """\
# The states of a payment

Made by `manage.py write_states` from the tables of transitions; change those.
What the states mean for a shop is told in [a payment's life](../explanation/payments.md).
"""
LIST = """\
Every change there is, with the one event that tells it. The database refuses any other. A row that
leads to its own state is another attempt of the same payment. What changes no status (a new
description, say) tells no event.
"""
# The first sentences of each section, by the noun of its table.
INTRODUCTIONS = {
    "attempt": """\
A payment has one attempt for each time that its bank was to be asked for money (`attempts`, oldest
first). At most one of them is open or successful.
""",
    "modification": """\
A capture, a void or a reversal of an authorised attempt is a modification: a row of its own, which
operators see. The bank is asked for one at a time.
""",
    "refund": """\
A refund gives captured money back, whole or in part ([refunds](../how-to/refunds.md)). A change
that shows in the refund and leads to its own state is told as well; so is a new description or
metadata.
""",
    "dispute": """\
A dispute is a cardholder's complaint at the bank about a payment
([disputes](../how-to/disputes.md)). Where the status begins with `warning_` it is an inquiry, at
which the bank takes no money. The bank's word counts after the end, too: a lost dispute may be won
later.
""",
    "dispute_delivery": """\
Submitted evidence, and the acceptance of a dispute that its merchant closed, are owed to the bank:
a row of its own, which operators see. It is sent until the bank acknowledges it.
""",
    "payout": """\
A payout sends your available money to your own account at a bank ([payouts](../how-to/payouts.md)).
To be sent, and to be canceled, are told by no event.
""",
    "topup": """\
A topup sends money to your balance by a bank transfer ([topups](../how-to/topups.md)). To be
created is told by no event.
""",
    "incoming_transfer": """\
A transfer that came to the bank is a topup's, or a case that an operator decides
([topups](../how-to/topups.md#for-operators)). Operators see it, and no event tells of it.
""",
    "case": """\
A case is a question about an attempt that only a person can decide, or the bank in the end
([cases](../operate/cases.md)). Operators see it, and no event tells of it.
""",
    "merchant": """\
An operator changes the status of a merchant's account ([how](../operate/operating.md#merchants)).
Refunds, cancellations, evidence, keys, endpoints and reads go on in every status, and what was
begun is finished.
""",
}


class Command(BaseCommand):
    help = "Write docs/reference/states.md from the tables of transitions."

    def handle(self, *_args: Any, **_options: Any) -> None:
        PATH.write_text(page())
        changes = sum(len(table.changes) for table in transitions.TABLES.values())
        self.stdout.write(f"{PATH} has {changes} changes.")


def page() -> str:
    """Return the text of docs/reference/states.md.

    :raises KeyError: a table has no introduction here.
    """
    payments, *others = transitions.TABLES.values()
    diagram = "".join(f"    {line}\n" for line in _diagram(payments))
    parts = [
        TOP,
        f"```mermaid\nstateDiagram-v2\n{diagram}```\n",
        LIST,
        _changes(payments),
        *(_section(table) for table in others),
    ]
    return "\n".join(parts)


def _section(table: Table) -> str:
    statuses = [f"| `{status}` | {meaning} |\n" for status, meaning in table.meanings.items()]
    meanings = "| status | meaning |\n|---|---|\n" + "".join(statuses) + "\n" if statuses else ""
    heading = f"## The states of {_with_article(table.noun.replace('_', ' '))}\n\n"
    return f"{heading}{INTRODUCTIONS[table.noun]}\n{meanings}{_changes(table)}"


def _changes(table: Table) -> str:
    """Return a table's changes; the column of events is left out where there are none."""
    tells = any(change.event for change in table.changes)
    names = ["from", "to", *(["event"] if tells else []), "what happened"]
    rows = [f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"]
    for before, after, event, cause in table.changes:
        told = [f"`{event}`"] if tells else []
        rows.append(f"| {' | '.join([f'`{before}`', f'`{after}`', *told, cause])} |\n")
    return "".join(rows)


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _diagram(table: Table) -> Iterator[str]:
    """Yield the lines of the diagram; an arrow's event is the one of the state it leads to."""
    pairs = [(change.before, change.after) for change in table.changes]
    left = {before for before, _after in pairs}
    yield from (f"[*] --> {first}" for first in table.beginnings)
    yield from (f"{before} --> {after}" for before, after in pairs)
    yield from (
        f"{last} --> [*]" for last in dict.fromkeys(a for _, a in pairs) if last not in left
    )
