"""Processes load what they need: pages are for those that serve them, and for their checks."""

import re

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from tests.stage.processes import run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

DJANGOS = ("django.core.management.commands", "django.contrib")
WORKER = """
import sys
from config.celery import app
app.Worker(pool="solo")
print("payments.charging.tasks" in sys.modules, "config.urls" in sys.modules)
print("panel.operators.sections" in sys.modules, "payments.intents.admin" in sys.modules)
"""
DELIVERS = """
import sys
import django
django.setup()
from django.core.management import execute_from_command_line
from webhooks.delivery.drain import Drain
Drain.run = lambda *_, **__: print("run", "config.urls" in sys.modules)
execute_from_command_line(["manage.py", "deliver_webhooks"])
"""
COMMAND = """
import sys
import django
django.setup()
from django.core.management import execute_from_command_line
try:
    execute_from_command_line(["manage.py", "check_money"])
except SystemExit:
    print("run", "config.urls" in sys.modules)
"""
CHECKED = """
import sys
import django
django.setup()
from django.core.checks import run_checks
print("payments.intents.admin" in sys.modules)
assert not run_checks(tags=["admin"])
print("payments.intents.admin" in sys.modules)
"""


def test_a_worker_starts_without_any_page() -> None:
    status, said = run("-c", WORKER, is_fresh=True)

    # Behind it Celery may warn of the user that runs it.
    assert (status, said.split()[:4]) == (0, ["True", "False", "False", "False"]), said


def test_the_sender_of_webhooks_starts_without_any_page() -> None:
    status, said = run("-c", DELIVERS, is_fresh=True)

    assert (status, said.split()) == (0, ["run", "False"]), said


def test_a_command_starts_without_any_page() -> None:
    status, said = run("-c", COMMAND, is_fresh=True)

    assert (status, "run False" in said) == (0, True), said


def test_no_command_of_ours_runs_the_checks() -> None:
    page = (settings.BASE_DIR / "docs/operate/commands.md").read_text()
    places = get_commands()
    named = [name for name in re.findall(r"^\| `(\w+)`", page, re.MULTILINE) if name in places]
    commands = {name: load_command_class(places[name], name) for name in named}
    ours = {name: one for name, one in commands.items() if not _is_djangos(one)}

    assert len(ours) > 20
    assert [name for name, one in ours.items() if one.requires_system_checks] == []


def _is_djangos(command: object) -> bool:
    """Return whether a command is Django's, or one of Django's that a room has changed."""
    return any(kind.__module__.startswith(DJANGOS) for kind in type(command).__mro__)


def test_the_checks_look_at_the_whole_admin() -> None:
    status, said = run("-c", CHECKED, is_fresh=True)

    assert (status, said.split()) == (0, ["False", "True"]), said
