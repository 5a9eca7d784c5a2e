"""The audit after a test: nothing is wrong, and nothing is unknown."""

import re
from io import StringIO

from django.core.management import call_command

from payments.intents.models import PaymentIntent
from tests.stage.stories import assert_charged_at_most_once

# A bank without a statement leaves its attempts to us: here its own book is read instead.
NO_STATEMENT = re.compile(r"UNKNOWN +terminal old-bank-[0-9]+: no statement vouches .*")


def assert_audit_is_clean() -> None:
    """Let the audit compare all books, and compare a bank's that has no statement."""
    said = StringIO()
    call_command("audit", stdout=said)  # Exits with 1 otherwise.
    unvouched, count = NO_STATEMENT.subn("", said.getvalue())
    assert "UNKNOWN" not in unvouched, said.getvalue()
    for payment_id in PaymentIntent.objects.values_list("id", flat=True) if count else ():
        assert_charged_at_most_once(payment_id)
