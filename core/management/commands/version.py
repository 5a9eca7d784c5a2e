import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from core import release
from core.version import VERSION


class Command(BaseCommand):
    help = "Show the release, and whether the database's schema goes with it; exit 1 if not."
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        named = f" ({settings.RELEASE})" if settings.RELEASE != VERSION else ""
        self.stdout.write(f"release {VERSION}{named}")
        try:
            found = release.schema()
        except OperationalError as problem:
            raise CommandError("The database is away: its schema is not known.") from problem
        count = len(release.own_migrations()) - len(found.lacking)
        self.stdout.write(f"schema: {count} migrations of this release are applied")
        for label, migrations in (
            ("lacks", found.lacking), ("newer", found.newer), ("not borne", found.unborne),
        ):  # fmt: skip
            for migration in migrations:
                self.stdout.write(f"  {label:<10} {migration}")
        if refusal := release.refusal_of(found):
            self.stderr.write(refusal)
            sys.exit(1)
