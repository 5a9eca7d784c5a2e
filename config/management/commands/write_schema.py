import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.openapi import released
from config.openapi.document import written
from config.pages import SCHEMA as PATH

RELEASED = PATH.parent / "released" / PATH.name


class Command(BaseCommand):
    help = "Write docs/openapi.json, the API's schema, as it follows from the code."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="Only tell whether it is right.")

    def handle(self, *_args: Any, check: bool, **_options: Any) -> None:
        found = written()
        if check:
            self._check(found)
            return
        PATH.write_bytes(found)
        self.stdout.write(f"{PATH} has {len(found)} bytes.")

    def _check(self, found: bytes) -> None:
        if not PATH.exists() or PATH.read_bytes() != found:
            raise CommandError(
                "docs/openapi.json is not what the code says. "
                "Write it: ./dev run python manage.py write_schema"
            )
        before = json.loads(RELEASED.read_bytes())
        faults = released.broken(before, json.loads(found))
        if faults:
            raise CommandError(
                "\n".join(["Clients of docs/released/openapi.json would break:", *faults])
            )
        operations = sum(map(len, [*before["paths"].values(), *before["webhooks"].values()]))
        self.stdout.write(f"{operations} released operations and webhooks, none broken")
