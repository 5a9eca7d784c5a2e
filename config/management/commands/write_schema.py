from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.openapi.document import written
from config.pages import SCHEMA as PATH


class Command(BaseCommand):
    help = "Write docs/openapi.json, the API's schema, as it follows from the code."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="Only tell whether it is right.")

    def handle(self, *_args: Any, check: bool, **_options: Any) -> None:
        found = written()
        if not check:
            PATH.write_bytes(found)
            self.stdout.write(f"{PATH} has {len(found)} bytes.")
        elif not PATH.exists() or PATH.read_bytes() != found:
            raise CommandError(
                "docs/openapi.json is not what the code says. "
                "Write it: ./dev run python manage.py write_schema"
            )
