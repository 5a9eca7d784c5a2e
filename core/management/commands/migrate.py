from typing import Any

from django.core.management.commands import migrate

from core.postgresql import roles


class Command(migrate.Command):
    help = "Bring a database to this release as its owner, and give the service's role its rights."

    def handle(self, *args: Any, **options: Any) -> None:
        alias = options["database"]
        with roles.owner(alias) as service:
            roles.require_may_migrate(alias)
            super().handle(*args, **options)
            if service and not (options["plan"] or options["check_unapplied"]):
                roles.give_rights(alias, service)
