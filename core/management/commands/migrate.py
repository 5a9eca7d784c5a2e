from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError

from core.postgresql import roles


class Command(migrate.Command):
    help = "Bring a database to this release as its owner, and give the service's role its rights."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._migrate(*args, **options)
        except OperationalError as problem:
            # A full disk, a lock, a server that went away: nothing that this release does wrong.
            cause = str(problem).partition("\n")[0]
            raise CommandError(
                f"The migration broke off ({cause}). The last release goes on as before. Mend the "
                "cause, then run `manage.py migrate` again: it goes on where it was."
            ) from problem

    def _migrate(self, *args: Any, **options: Any) -> None:
        alias = options["database"]
        with roles.owner(alias) as service:
            roles.require_may_migrate(alias)
            super().handle(*args, **options)
            if service and not (options["plan"] or options["check_unapplied"]):
                roles.give_rights(alias, service)
