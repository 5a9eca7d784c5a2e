"""Processes start as an installation's units start them: no variable names the settings."""

import pytest

from tests.stage.processes import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "imported", ["config.gunicorn", "testbank.gunicorn", "config.celery", "config"]
)
def test_a_configuration_asks_no_setting_before_the_settings_are_named(imported: str) -> None:
    code = f"import os; del os.environ['DJANGO_SETTINGS_MODULE']; import {imported}"

    assert run("-c", code, is_fresh=True) == (0, "")
