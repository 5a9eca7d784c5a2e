from typing import Any

from django.core.management import CommandError
from django.core.management.commands import check
from django.db import OperationalError

from config import deployment
from core.postgresql import roles


class Command(check.Command):
    help = "Look at settings, and with --deploy --database at the stores, before opening."

    def handle(self, *app_labels: Any, **options: Any) -> None:
        try:
            # A role that may too much is a finding here, among the others.
            with roles.owner_may_connect():
                super().handle(*app_labels, **options)
        except OperationalError as problem:
            # Django's own checks ask the server before ours do.
            found = deployment.unanswered(problem)
            raise CommandError(f"{found.text} {found.hint}") from problem
