"""Lists and exports are read from a real standby, and from the primary where it does not fit."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from core import standby
from devstack.servers import Servers
from tests.stage.client import ApiClient
from tests.stage.own_servers import PATIENCE_SECONDS, manage
from tests.stage.standbys import standby_of, superusers
from tests.stage.web_process import WebProcess

OWNER = ("--name", "Acme", "--email", "owner@acme.example")
AS_OF = "PF-As-Of"


class Shop:
    """A merchant's backend, at one web process."""

    def __init__(self, web: WebProcess, secret_key: str) -> None:
        self.url = f"{web.url}/v1/customers"
        self.headers = {"Authorization": f"Bearer {secret_key}"}

    def add(self) -> str:
        made = requests.post(self.url, json={}, headers=self.headers, timeout=PATIENCE_SECONDS)
        assert made.status_code == 200, made.text
        return str(made.json()["id"])

    def list(self, query: str = "") -> tuple[list[str], bool]:
        """Return the ids of the list, and whether it is a standby's."""
        answer = requests.get(f"{self.url}{query}", headers=self.headers, timeout=PATIENCE_SECONDS)
        assert answer.status_code == 200, answer.text
        return [one["id"] for one in answer.json()["data"]], AS_OF in answer.headers

    def status_of(self, customer: str) -> int:
        url = f"{self.url}/{customer}"
        return requests.get(url, headers=self.headers, timeout=PATIENCE_SECONDS).status_code


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


@pytest.fixture
def copy(own_servers: Servers, own_settings: dict[str, str]) -> Iterator[Servers]:
    with standby_of(own_servers, superusers(own_settings["DATABASE_URL"])) as servers:
        yield servers


@pytest.mark.slow
def test_lists_come_from_a_standby_that_fits_and_else_from_the_primary(
    own_settings: dict[str, str], copy: Servers, tmp_path: Path
) -> None:
    merchant = json.loads(manage(own_settings, "create_merchant", *OWNER, "--json"))
    given = {**own_settings, "READ_DATABASE_URL": copy.database_address("app")}
    at_the_copy = superusers(own_settings["DATABASE_URL"], copy)
    patient = WebProcess(tmp_path / "patient", READ_MAX_LAG_SECONDS="600", **given)
    strict = WebProcess(tmp_path / "strict", READ_MAX_LAG_SECONDS="1", **given)
    try:
        shop, other = (Shop(web, merchant["secret_key"]) for web in (patient, strict))
        first = shop.add()
        until(lambda: shop.list() == ([first], True))
        with psycopg.connect(at_the_copy, autocommit=True) as raw:
            raw.execute("SELECT pg_wal_replay_pause()")
            until(
                lambda: (
                    raw.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() == ("paused",)
                )
            )

            second = shop.add()

            assert shop.list() == ([first], True)  # The header says how old it is.
            assert shop.status_of(second) == 200  # One object is always the primary's.
            # A cursor that the standby lacks is the primary's.
            assert shop.list(f"?starting_after={second}") == ([first], False)
            # One that is too far behind is not read.
            until(lambda: other.list() == ([second, first], False))
            raw.execute("SELECT pg_wal_replay_resume()")
            until(lambda: shop.list() == ([second, first], True))
            raw.execute("SELECT pg_promote(wait => true)")
        until(lambda: not shop.list()[1])
        third = shop.add()
        copy.processes["postgres"].send_signal(signal.SIGKILL)
        copy.processes["postgres"].wait(PATIENCE_SECONDS)
        assert shop.list() == other.list() == ([third, second, first], False)
    finally:
        patient.stop()
        strict.stop()


@pytest.mark.django_db
def test_without_a_standby_the_primary_is_read(acme: ApiClient) -> None:
    assert standby.read(lambda: 1) == standby.Read(1, None)
    answer: Any = acme.get("/v1/customers")
    assert AS_OF not in answer.headers
    assert standby.most_seconds_behind() is None
