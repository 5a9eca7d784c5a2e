"""The database or its pooler is restarted while nobody asks: then every door answers at once."""

import json
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import requests

from devstack import pooler, processes
from devstack.servers import Servers
from tests.stage.factories import RETURN_URL, payment, three_d_secure
from tests.stage.kills import SWEEPER, until
from tests.stage.lengths import length
from tests.stage.own_servers import manage, migrated, restart
from tests.stage.payer import Page
from tests.stage.web_process import Running, WebProcess

pytestmark = [pytest.mark.proof(part="chaos"), pytest.mark.timeout(180)]

# As many at once as a web process has connections for its threads, and as often twice.
AT_ONCE, TIMES = 8, 16
PATIENCE_SECONDS = 60
OWNER = ("--name", "Acme", "--email", "owner@acme.example", "--website", "https://acme.example")

DOORS = ("bank's return", "payer's page", "health", "API read", "API payment", "admin")
SEVERAL = 4
Ask = Callable[[], requests.Response]


class House:
    """The web process and the bank, and a merchant with payers who are at the bank."""

    def __init__(self, settings: dict[str, str], home: Path) -> None:
        bank = WebProcess(home / "bank.log", "testbank.wsgi", **settings)
        self.settings = settings | {"TESTBANK_URL": bank.url}
        web = WebProcess(home / "web.log", **self.settings)
        self.url, self.bank, self.running = web.url, bank.url, [web, bank]

    def open(self) -> None:
        merchant = json.loads(manage(self.settings, "create_merchant", *OWNER, "--json"))
        self.headers = {"Authorization": f"Bearer {merchant['secret_key']}"}
        self.pages = [self.challenge() for _ in range(TIMES)]
        self.brought = [_answer_of_the_bank(page, self.bank) for page in self.pages]

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        return _call(method, self.url + path, **options)

    def api(self, method: str, path: str, body: Any = None) -> requests.Response:
        return self.call(method, f"/v1{path}", json=body, headers=self.headers)

    def challenge(self) -> str:
        body = {**payment(), "return_url": RETURN_URL, **three_d_secure("required")}
        answer = self.api("POST", "/payment_intents", body).json()
        return answer["next_action"]["redirect_to_url"]["url"].replace(
            self.settings["BASE_URL"], self.url
        )

    def ask(self, door: str) -> Counter[int]:
        """Ask one door many times, several times at once; count the answers' statuses."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = pool.map(lambda ask: ask(), self._asks(door))
            return Counter(answer.status_code for answer in answers)

    def _asks(self, door: str) -> list[Ask]:
        return {
            "bank's return": [
                partial(self.call, "POST", path, data=fields) for path, fields in self.brought
            ],
            "payer's page": [partial(_call, "GET", page) for page in self.pages],
            "health": [partial(self.call, "GET", "/livez")] * TIMES,
            "API read": [partial(self.api, "GET", "/balance")] * TIMES,
            "API payment": [partial(self.api, "POST", "/payment_intents", payment())] * TIMES,
            "admin": [partial(self.call, "GET", "/account/login")] * TIMES,
        }[door]

    def stop(self) -> None:
        for process in self.running:
            process.stop()


def _answer_of_the_bank(page: str, bank: str) -> tuple[str, dict[str, str]]:
    """Approve at the bank, as the payer does; return where the browser brings what."""
    # The bank names itself by an address that it does not have here.
    challenge = _page("GET", bank + urlsplit(_page("GET", page).form.action).path)
    pressed = challenge.form.buttons["Approve"]
    fields = {**challenge.form.fields, **dict([pressed] if pressed else [])}
    done = _page("POST", bank + urlsplit(challenge.form.action).path, data=fields)
    if done.status == 303:
        done = _page("GET", bank + urlsplit(done.headers["Location"]).path)
    return urlsplit(done.form.action).path, done.form.fields


def _page(method: str, url: str, **options: Any) -> Page:
    answer = _call(method, url, **options)
    return Page(answer.status_code, dict(answer.headers), answer.content)


def _call(method: str, url: str, **options: Any) -> requests.Response:
    return requests.request(method, url, timeout=PATIENCE_SECONDS, allow_redirects=False, **options)


@pytest.fixture
def house(request: pytest.FixtureRequest, own_servers: Servers, tmp_path: Path) -> Iterator[House]:
    """The house on a database of its own; a test's parameter may put a pooler in between."""
    given = own_servers.start_behind_pooler() if getattr(request, "param", None) else {}
    house = House(migrated(own_servers, tmp_path, given), tmp_path)
    try:
        house.open()
        yield house
    finally:
        house.stop()


def kept(servers: Servers) -> int:
    """Count the connections that lead to the service's database, or to its pooler."""
    if "pgbouncer" in servers.processes:
        clients = pooler.console(servers.sockets, "SHOW CLIENTS")
        return sum(client["database"] == "app" for client in clients)
    with psycopg.connect(host=str(servers.sockets), user="app", dbname="postgres") as direct:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'app'"
        return direct.execute(query).fetchall()[0][0]


def is_reached(url: str) -> bool:
    """Tell whether the database answers; until PgBouncer has logged in, it refuses by itself."""
    try:
        with psycopg.connect(url) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def assert_all_answer_at_once(house: House, servers: Servers, again: Callable[[], None]) -> None:
    """Restart before each door is asked, so that each meets dead connections."""
    for door in DOORS:
        until(lambda: house.ask("API read")[200] and kept(servers) >= SEVERAL, PATIENCE_SECONDS)
        again()
        answers = house.ask(door)
        print(f"{door}: {dict(answers)}")  # noqa: T201
        assert answers == {302 if door == "bank's return" else 200: TIMES}


@pytest.mark.parametrize(
    "signal_number", length(short=[signal.SIGKILL], full=[signal.SIGINT, signal.SIGKILL])
)
def test_after_the_database_was_restarted(
    signal_number: int, house: House, own_servers: Servers
) -> None:
    assert_all_answer_at_once(house, own_servers, lambda: restart(own_servers, signal_number))


@pytest.mark.parametrize("house", ["behind a pooler"], indirect=True)
def test_after_the_pooler_was_restarted(house: House, own_servers: Servers) -> None:
    def restart_pooler() -> None:
        processes.stop([own_servers.processes["pgbouncer"]])
        own_servers.start_pgbouncer()

    assert_all_answer_at_once(house, own_servers, restart_pooler)


@pytest.mark.only_full("in the gate the pooler and the database are restarted apart")
@pytest.mark.parametrize("house", ["behind a pooler"], indirect=True)
def test_after_the_pooler_has_found_the_database_again(house: House, own_servers: Servers) -> None:
    def restart_database() -> None:
        restart(own_servers, signal.SIGINT)
        until(lambda: is_reached(house.settings["DATABASE_URL"]), PATIENCE_SECONDS)

    assert_all_answer_at_once(house, own_servers, restart_database)


def test_the_sweeper_goes_on_after_the_database_was_restarted(
    house: House, own_servers: Servers, tmp_path: Path
) -> None:
    schedule = ["-s", str(tmp_path / "schedule"), "--pidfile="]
    sweeper = Running(tmp_path / "sweeper.log", ["celery", *SWEEPER, *schedule], **house.settings)
    house.running.append(sweeper)
    sweeper.wait_for(r"(beat: Starting|celery@\S+ ready)")
    restart(own_servers, signal.SIGKILL)

    manage(house.settings, "clock", "advance", "2h")

    payments = "/payment_intents?limit=100"
    until(
        lambda: (
            {row["status"] for row in house.api("GET", payments).json()["data"]}
            == {"requires_payment_method"}
        ),
        PATIENCE_SECONDS,
    )
