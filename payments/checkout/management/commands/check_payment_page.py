"""Look at the payment page as a payer gets it: `manage.py check_payment_page`."""

import json
import sys
from pathlib import Path
from typing import Any

import requests
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from payments.checkout import page_check
from payments.checkout.page_check import CheckImpossible, Compared


class Command(BaseCommand):
    help = (
        "Compare the payment page that payers get with the one that this release renders: headers,"
        " page and style sheets. Exit 1 on any difference (docs/operate/pci.md)."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "url", nargs="?", default=settings.BASE_URL, help="where payers reach the service"
        )
        parser.add_argument(
            "--key-file",
            metavar="FILE",
            help="a secret key with the scope payment_intents, - for the standard input;"
            " by default that of the demo merchant of a sandbox",
        )
        parser.add_argument("--currency", default=settings.CURRENCIES[0], help="of the session")

    def handle(self, *_args: Any, **options: Any) -> None:
        key, url = _key(options["key_file"]), options["url"].rstrip("/")
        with requests.Session() as http:
            http.trust_env = False  # No proxy but those that payers pass.
            try:
                compared = page_check.check(url, key, currency=options["currency"], http=http)
            except CheckImpossible as problem:
                raise CommandError(f"Nothing was compared. {problem}") from None
        if compared.problems or options["verbosity"]:
            self._report(url, compared)
        if compared.problems:
            sys.exit(1)

    def _report(self, url: str, compared: Compared) -> None:
        for problem in compared.problems:
            self.stderr.write(f"PROBLEM  {problem}")
        self.stderr.write(
            f"{url}: a page with {len(page_check.COMPARED)} headers and {compared.sheets} style"
            f" sheets compared with release {settings.RELEASE}: {len(compared.problems)} problems"
        )


def _key(file: str | None) -> str:
    if file == "-":
        return sys.stdin.readline().strip()
    try:
        if file:
            return Path(file).read_text().strip()
        if settings.DEMO_FILE:
            key: str = json.loads(settings.DEMO_FILE.read_text())["secret_key"]
            return key
    except (OSError, ValueError, KeyError) as problem:
        raise CommandError(f"No key can be read: {type(problem).__name__}.") from None
    raise CommandError("Name a file with a secret key: --key-file FILE, or - for the input.")
