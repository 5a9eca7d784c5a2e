from typing import Any

from django.core.management.commands import check

from core.postgresql import roles


class Command(check.Command):
    help = "Look at settings, and with --deploy --database at the stores, before opening."

    def handle(self, *app_labels: Any, **options: Any) -> None:
        # A role that may too much is a finding here, among the others.
        with roles.owner_may_connect():
            super().handle(*app_labels, **options)
