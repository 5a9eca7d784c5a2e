"""Say which daily runs did not happen, failed or found something: `manage.py check_money`."""

import sys
from typing import Any

from api.commands import JobCommand
from audit.daily import overdue
from core import context


class Command(JobCommand):
    help = "For monitoring: exit 1 if a daily run did not happen, failed, or found something."

    def handle(self, *_args: Any, **_options: Any) -> None:
        with context.work():
            said = overdue.sentences()
        for sentence in said:
            self.stdout.write(sentence)
        if said:
            sys.exit(1)
        self.stdout.write("the daily runs were made, and found nothing")
