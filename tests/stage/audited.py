"""The audit after a test: nothing is wrong, and nothing is unknown."""

import re
from io import StringIO

from django.core.management import call_command

from audit import bank, report
from ledger.tasks import settle_due
from payments.intents.models import PaymentIntent
from tests.stage.stories import assert_charged_at_most_once

# A bank without a statement is asked about its attempts, and a test may have silenced it: its own
# book is read as well.
ASKED = re.compile(r"UNKNOWN +terminal (?:old-bank|nestpay|garanti)-[0-9]+: .*")
YEARS, FAST = 4000, 10_000


def assert_our_own_books_agree() -> None:
    """Let the audit compare all but the bank, which in some tests tells what it never did."""
    settle_due()  # As a worker does every two seconds, wherever the test has moved the clock to.
    different = {found.name: found.differences for found in (check() for check in report.OUR_OWN)}
    assert not any(different.values()), different


def audit() -> tuple[int, str]:
    """Let workers settle what is due, run the command, and return its exit status and words."""
    settle_due()
    said = StringIO()
    try:
        call_command("audit", window=YEARS, rate=FAST, stdout=said)
    except SystemExit as end:
        return int(end.code or 0), said.getvalue()
    return 0, said.getvalue()


def assert_audit_is_clean(*, despite_unknown: bool = False) -> None:
    """Let the audit compare all books, and compare a bank's that has no statement.

    :param despite_unknown: what has not ended yet may be listed; it is no difference.
    """
    status, said = audit()
    assert status == 0, said
    assert despite_unknown or "UNKNOWN" not in ASKED.sub("", said), said
    if not bank.without_statement():
        return
    for payment_id in PaymentIntent.objects.values_list("id", flat=True):
        assert_charged_at_most_once(payment_id)
