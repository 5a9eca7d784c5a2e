"""Processes load what they need: pages are for those that serve them, and for their checks."""

import pytest

from tests.stage.processes import run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]

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
    status, said = run("-c", WORKER)

    # Behind it Celery may warn of the user that runs it.
    assert (status, said.split()[:4]) == (0, ["True", "False", "False", "False"]), said


def test_the_sender_of_webhooks_starts_without_any_page() -> None:
    status, said = run("-c", DELIVERS)

    assert (status, said.split()) == (0, ["run", "False"]), said


def test_the_checks_look_at_the_whole_admin() -> None:
    status, said = run("-c", CHECKED)

    assert (status, said.split()) == (0, ["False", "True"]), said
