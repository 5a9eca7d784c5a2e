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
[A payment's life](../explanation/payments.md) says what each state means for a shop.
"""
LIST = """\
These are all changes of status. Each has one event. The database refuses any other change. A row
that leads to its own state is another attempt of the same payment. Updates that change no status,
such as a new description, have no event.
"""
# The first sentences of each section, by the noun of its table.
INTRODUCTIONS = {
    "attempt": """\
Each time that the service is to ask the bank for a payment's money, it makes an attempt
(`attempts`, oldest first). At most one of them is open or successful.
""",
    "modification": """\
A capture, a void or a reversal of an authorised attempt is a modification. It is a row of its own,
which operators see. The service asks the bank for one modification at a time.
""",
    "refund": """\
A refund gives captured money back, whole or in part ([refunds](../how-to/refunds.md)). A change
that shows in the refund and leads to its own state has an event as well. So has a new description
or metadata.
""",
    "dispute": """\
A dispute is a cardholder's complaint at the bank about a payment
([disputes](../how-to/disputes.md)). If the status begins with `warning_`, the dispute is an
inquiry: the bank takes no money. The bank may change its decision after the end: a lost dispute
may be won later, and a won one lost.
""",
    "dispute_delivery": """\
The service owes the bank the evidence that a merchant submitted, and the acceptance of a dispute
that a merchant closed. Each is a row of its own, which operators see. The service sends it until
the bank acknowledges it.
""",
    "payout": """\
A payout sends your available money to your own account at a bank ([payouts](../how-to/payouts.md)).
There is no event for sending or canceling a payout.
""",
    "topup": """\
A topup sends money to your balance by a bank transfer ([topups](../how-to/topups.md)). There is no
event for creating one.
""",
    "incoming_transfer": """\
A transfer that came to the bank belongs to a topup, or an operator decides about it as a case
([topups](../how-to/topups.md#for-operators)). Operators see it. It has no event.
""",
    "case": """\
A case is a question about an attempt. A person decides it, or the bank answers in the end
([cases](../operate/cases.md)). Operators see it. It has no event.
""",
    "checkout_session": """\
A checkout session is a page on which one customer pays one payment
([checkout](../how-to/checkout.md)). There is no event for creating one.
""",
    "merchant": """\
An operator changes the status of a merchant's account ([how](../operate/merchants.md#merchants)).
Refunds, cancellations, evidence, keys, endpoints and reads go on in every status, and the service
finishes the work that it has begun.
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
        _meanings(payments),
        LIST,
        _changes(payments),
        *(_section(table) for table in others),
    ]
    return "\n".join(parts)


def _section(table: Table) -> str:
    meanings = f"{_meanings(table)}\n" if table.meanings else ""
    heading = f"## The states of {_with_article(table.noun.replace('_', ' '))}\n\n"
    return f"{heading}{INTRODUCTIONS[table.noun]}\n{meanings}{_changes(table)}"


def _meanings(table: Table) -> str:
    statuses = [f"| `{status}` | {meaning} |\n" for status, meaning in table.meanings.items()]
    return "| status | meaning |\n|---|---|\n" + "".join(statuses)


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
