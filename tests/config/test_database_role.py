"""The service needs no more rights than those of the plain owner of its database."""

import subprocess

import pytest
from django.db import connections

from devstack.state import ROOT
from tests.stage.database_role import A_PLAIN_OWNER, rights

# No right that only the tests' servers grant is used outside of tests and benchmarks.
GRANTED_TO_TESTS = "session_replication_role"


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("alias", ["default", "bank"])
def test_all_tests_run_as_a_plain_owner(alias: str) -> None:
    with connections[alias].cursor() as cursor:
        assert rights(cursor) == A_PLAIN_OWNER


def test_the_service_asks_for_nothing_that_only_the_tests_servers_grant() -> None:
    command = ["git", "grep", "--name-only", GRANTED_TO_TESTS, "--", "*.py"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    rooms = {name.split("/")[0] for name in found.stdout.split()}
    assert {"tests", "bench", "devstack"} == rooms
