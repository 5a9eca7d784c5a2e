"""The cast and the stage: Acme is ours, Globex must never see anything of Acme's."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import TransactionTestCase, override_settings
from hypothesis import settings as hypothesis_settings
from pytest_socket import socket_allow_hosts
from redis import Redis
from whitenoise.middleware import WhiteNoiseMiddleware

from config import urls  # noqa: F401 - All pages are loaded, as in a web process.
from core import context, redis
from core.keyring import ring
from devstack.servers import Servers
from panel import patience
from tests.stage import both_banks, by_cursor, database_role, described, left_out, through_pooler
from tests.stage.bank_transport import BankTransport, bank_in_process
from tests.stage.client import ApiClient
from tests.stage.deadly import BANK_WORKS_SECONDS
from tests.stage.emptying import empty
from tests.stage.factories import open_merchant
from tests.stage.garanti.way import garanti_at, garanti_behind
from tests.stage.key_change import KeyChange, change_key
from tests.stage.kills import House, Installation
from tests.stage.lengths import give_time, longest_first, require_parts, write_files
from tests.stage.nestpay.way import nestpay_at, nestpay_behind
from tests.stage.notifier import Notifier, notifier_behind
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import OldBankWay, old_bank_behind
from tests.stage.one_way_out import watched
from tests.stage.own_servers import migrated, throw_away
from tests.stage.redis_places import patient_budget
from tests.stage.web_process import READ_SECONDS, WebProcess
from vault import peers
from webhooks.delivery import fairness
from webhooks.delivery.http import sender

# The first text that is not ASCII builds a table; no example may fail for that.
hypothesis_settings.register_profile("service", deadline=None, derandomize=True)
hypothesis_settings.load_profile("service")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return through_pooler.has_none(collection_path, config) or None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    both_banks.make_both(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    through_pooler.mark(items)
    require_parts(items)
    write_files(items)
    give_time(items)
    yield  # pytest-django puts them in an order of its own.
    left_out.leave_out(config, items)
    longest_first(items, workers=int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Let the test databases be copies of those that come migrated (devstack.cluster)."""
    if os.environ.get("TEST_DATABASE_URL"):
        return
    for alias in connections:
        ours = connections[alias].settings_dict
        ours["TEST"]["TEMPLATE"] = ours["NAME"]


@pytest.fixture(scope="session")
def _owners_make_the_databases(django_db_modify_db_settings: None) -> None:
    """Let the owners make the test databases."""
    database_role.connect_as_owners()


@pytest.fixture(scope="session")
def django_db_setup(
    _owners_make_the_databases: None, django_db_setup: None, django_db_blocker: Any
) -> Iterator[None]:
    """Run all tests as the service's role; the owners drop the databases after them."""
    with django_db_blocker.unblock():
        database_role.connect_as_service()
    yield
    database_role.connect_as_owners()


@pytest.fixture(scope="session", autouse=True)
def _transactional_tests_empty_what_they_filled() -> Iterator[None]:
    def empty_all(test_case: TransactionTestCase) -> None:
        for alias in test_case._databases_names(include_mirrors=False):
            empty(alias)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TransactionTestCase, "_fixture_teardown", empty_all)
        yield


@pytest.fixture(scope="session")
def patient_redis() -> Redis:
    """A client for the tests' own use: the service's gives up after 100 ms."""
    return Redis.from_url(settings.REDIS_URL, socket_timeout=10)


@pytest.fixture(scope="session", autouse=True)
def _a_busy_machine_is_no_redis_that_is_away() -> Iterator[None]:
    with patient_budget():
        yield


@pytest.fixture(scope="session", autouse=True)
def _a_busy_machine_is_no_slow_database() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(patience, "WHOLE_MS", 600_000)
        yield


@pytest.fixture(scope="session", autouse=True)
def _all_went_through_the_pooler(request: pytest.FixtureRequest) -> Iterator[None]:
    if not settings.BEHIND_POOLER:
        yield
        return
    request.getfixturevalue("django_db_setup")
    yield
    through_pooler.require_traffic()
    # It would keep its sessions, and a database with sessions cannot be dropped.
    through_pooler.hang_up()


@pytest.fixture(scope="session", autouse=True)
def _the_fallback_is_counted() -> Iterator[None]:
    """Count what psycopg's cursor sends instead of libpq's calls, in a run with this setting."""
    if settings.LIBPQ_CALLS:
        yield
        return
    with by_cursor.counted():
        yield


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    # Every merchant's owner gets one, and the real hash is slow on purpose.
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_looked_for_once() -> Iterator[None]:
    # Each test client makes a WhiteNoise of its own, which would take 20 ms to look at them all.
    look, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def look_once(middleware: WhiteNoiseMiddleware) -> None:
        if middleware.static_prefix not in found:
            look(middleware)
            found[middleware.static_prefix] = dict(middleware.files)
        middleware.files.update(found[middleware.static_prefix])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WhiteNoiseMiddleware, "add_files_from_finders", look_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _authorities_are_read_once() -> Iterator[None]:
    # A sender reads the system's certificates three times, which takes longer than its test.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sender, "trusted_tls", cache(sender.trusted_tls))
        yield


@pytest.fixture(scope="session", autouse=True)
def _only_the_reveal_opens_cards() -> Iterator[None]:
    with watched():
        yield


@pytest.fixture(autouse=True)
def _claims_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim depends on who wanted one a moment ago: not on the test before."""
    monkeypatch.setattr(fairness, "_round", fairness._Round())


@pytest.fixture(autouse=True)
def _stay_on_this_machine() -> Iterator[None]:
    socket_allow_hosts(["127.0.0.1", "localhost"], allow_unix_socket=True)
    yield
    context.end()


@pytest.fixture(autouse=True)
def _nothing_is_held_from_the_test_before(patient_redis: Redis) -> None:
    patient_redis.flushdb()
    redis.circuit.cache_clear()


@pytest.fixture
def own_servers() -> Iterator[Servers]:
    """Servers of the test's own, which it may kill."""
    with throw_away() as servers:
        yield servers


@pytest.fixture
def own_settings(own_servers: Servers, tmp_path: Path) -> dict[str, str]:
    """The environment of the service on the test's own servers."""
    return migrated(own_servers, tmp_path)


@pytest.fixture
def key_change(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[KeyChange]:
    monkeypatch.setattr(peers, "HEAR_SECONDS", 0)
    change = change_key(settings, tmp_path)
    yield change
    change.restart()


@pytest.fixture
def undescribed(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that plant what no answer has: the schema is not asked."""
    monkeypatch.setattr(described, "check", lambda *_answer: None)


@pytest.fixture
def door(request: pytest.FixtureRequest) -> str:
    """The bank at which a test is played (see `tests.stage.both_banks`)."""
    return getattr(request, "param", both_banks.SANDBOX)


@pytest.fixture
def bank(
    db: None, door: str, request: pytest.FixtureRequest
) -> Iterator[BankTransport | OldBankWay]:
    """The bank behind the gateway: the sandbox's by one of its doors, or the old one's process."""
    if door == both_banks.OLD:
        with old_bank_behind(request.getfixturevalue("old_bank")) as way:
            yield way
    elif door == both_banks.NESTPAY:
        with nestpay_behind() as way:
            yield way
    elif door == both_banks.GARANTI:
        with garanti_behind() as way:
            yield way
    else:
        with bank_in_process() as transport:
            yield transport


@pytest.fixture(scope="session")
def old_bank_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OldBank]:
    """The process of the old bank that the tests of a worker share."""
    process = OldBank(tmp_path_factory.mktemp("old_bank"))
    yield process
    process.kill()


@pytest.fixture
def old_bank(old_bank_process: OldBank) -> OldBank:
    """A bank of the old kind, whose book is empty."""
    old_bank_process.reset()
    return old_bank_process


@pytest.fixture
def notifier() -> Iterator[Notifier]:
    """A bank that tells what the test lets it tell, before the sandbox's own."""
    with notifier_behind() as bank:
        yield bank


@pytest.fixture
def acme(db: None) -> ApiClient:
    """A merchant's client with a key that may do everything."""
    return ApiClient(open_merchant("Acme Store", website="https://acme.example"))


@pytest.fixture
def globex(db: None) -> ApiClient:
    return ApiClient(open_merchant("Globex", website="https://globex.example"))


@pytest.fixture(scope="session")
def kill_house(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The processes that all `installation`s have in common."""
    house = House(tmp_path_factory.mktemp("house"))
    yield house
    house.stop()


@pytest.fixture
def installation(
    kill_house: House, door: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Installation]:
    """Real processes of which one dies; this process asks the same bank."""
    ours = Installation(kill_house, tmp_path)
    with ExitStack() as stack:
        stack.callback(ours.stop)
        if door == both_banks.OLD:
            request.getfixturevalue("db")
            old_bank = request.getfixturevalue("old_bank")
            old_bank.take_time(works_seconds=BANK_WORKS_SECONDS)
            stack.enter_context(old_bank_behind(old_bank))
            ours.repeats = False
        elif at := {both_banks.NESTPAY: nestpay_at, both_banks.GARANTI: garanti_at}.get(door):
            request.getfixturevalue("db")
            stack.enter_context(at(ours.settings["TESTBANK_URL"]))
            ours.repeats = ours.refunds_on_the_day = False
        stack.enter_context(override_settings(TESTBANK_URL=ours.settings["TESTBANK_URL"]))
        yield ours


@pytest.fixture(scope="module")
def web(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[WebProcess]:
    """The web process, and `web.acme`, a merchant whose rows are committed."""
    ring()
    with django_db_blocker.unblock():
        acme = ApiClient(open_merchant("Acme Store", website="https://acme.example"))
        web = WebProcess(tmp_path_factory.mktemp("web") / "log", WEB_READ_SECONDS=str(READ_SECONDS))
        web.acme = acme
        yield web
        web.stop()
        empty("default")
