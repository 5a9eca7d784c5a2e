"""`manage.py check --deploy --database default`: each fault is found once, with what to do."""

import smtplib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest
import requests
from django.conf import settings
from django.core.checks import run_checks
from django.core.files.storage import storages
from django.core.mail.backends.base import BaseEmailBackend
from django.db import connection
from psycopg import connect
from redis import Redis
from redis.exceptions import RedisError

from config import deployment, health, probe
from core import installation, release
from core.postgresql import roles
from devstack.servers import OWNER
from tests.stage.database_role import as_owner, as_superuser, owners_address

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

Plant = Callable[[pytest.MonkeyPatch], None]
# A probe's answer where no proxy stands before the service.
WELL = {probe.SEEN: "127.0.0.1", probe.PASSED_ON: probe.CLAIMED}


@pytest.fixture(autouse=True)
def healthy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stores of the tests, and an address that answers.

    Their service's role may become the owner, which a right installation's may not.
    """
    _answer(401, WELL)(monkeypatch)
    _keep({"save": "", "appendonly": "no"}, "noeviction")(monkeypatch)
    with connect(as_superuser(), autocommit=True) as raw:
        raw.execute(f"REVOKE {OWNER} FROM app")
        yield
        raw.execute(f"GRANT {OWNER} TO app")
    with as_owner() as cursor:
        cursor.execute("REVOKE CREATE ON SCHEMA public FROM app")
        roles.give_rights("default", "app")


def found() -> list[str]:
    messages = run_checks(include_deployment_checks=True, databases=["default"])
    ours = [message for message in messages if (message.id or "").startswith("config.")]
    assert all(message.hint for message in ours)
    return [str(message.id).removeprefix("config.") for message in ours]


def test_a_right_installation_has_no_finding() -> None:
    assert found() == []
    assert len(deployment.LOOKS) == 7


def test_without_a_database_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "LOOKS", (lambda: 1 / 0,))

    assert deployment.stores_are_ready() == []


def _answer(status: int | None, headers: Mapping[str, str] = MappingProxyType({})) -> Plant:
    """Let our addresses answer a probe so; tests/config/test_probe.py asks real ones."""

    def get(*_arguments: object, **_options: object) -> requests.Response:
        if status is None:
            raise requests.ConnectionError
        answer = requests.Response()
        answer.status_code = status
        answer.headers.update(headers)
        return answer

    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(requests, "get", get)
        patch.setattr(settings, "PANEL_URL", settings.BASE_URL)

    return plant


def _keep(kept: dict[str, str], policy: str) -> Plant:
    def config_get(_client: Redis, *names: str) -> dict[bytes, bytes]:
        both = {"cluster-enabled": "no", **kept, "maxmemory-policy": policy}
        return {name.encode(): both[name].encode() for name in names}

    return lambda patch: patch.setattr(Redis, "config_get", config_get)


def _redis_away(patch: pytest.MonkeyPatch) -> None:
    def away(*_arguments: object) -> None:
        raise RedisError

    patch.setattr(Redis, "config_get", away)


def _server(**changed: Any) -> Plant:
    """Let the database say something else of itself, by the same statement."""
    said = {"version": "17", "encoding": "'UTF8'", "strong": "false", "now": "now()", **changed}
    select = f"SELECT {', '.join(said.values())}, 'app'"  # noqa: S608
    return lambda patch: patch.setattr(deployment, "SERVER", select)


def _changed(statement: str) -> Plant:
    """Change the role's rights; the fixture has `migrate` mend them after the test."""

    def plant(_patch: pytest.MonkeyPatch) -> None:
        with connect(owners_address(), autocommit=True) as raw:
            raw.execute(statement)

    return plant


def _rights(owner: str = "NULL") -> Plant:
    """Let the rights of the role be others, by the same statement."""
    return lambda patch: patch.setattr(
        deployment,
        "RIGHTS",
        f"SELECT {owner}, false, false WHERE %s IS NOT NULL",  # noqa: S608
    )


def _waits(names: str, commit: str) -> Plant:
    """Let the server say whether its commits wait, in an installation that trusts in it."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(settings, "SYNCHRONOUS_STANDBYS", True)
        asked = installation.WAITS
        for setting, said in (("standby_names", names), ("commit", commit)):
            asked = asked.replace(f"current_setting('synchronous_{setting}')", f"'{said}'")
        patch.setattr(installation, "WAITS", asked)

    return plant


def _bounded(patch: pytest.MonkeyPatch) -> None:
    """Bound statements, in an installation whose commits wait for a standby."""
    _waits("b", "on")(patch)
    patch.setattr(installation, "IS_BOUND", "true")


def _mail_away(patch: pytest.MonkeyPatch) -> None:
    def refuse(_backend: object) -> None:
        raise smtplib.SMTPConnectError(421, "away")

    patch.setattr(BaseEmailBackend, "open", refuse)
    patch.setattr(settings, "EMAIL_BACKEND", "django.core.mail.backends.base.BaseEmailBackend")


def _not_migrated(patch: pytest.MonkeyPatch) -> None:
    more = release.own_migrations() | {("core", "9999_next")}
    patch.setattr(release, "own_migrations", lambda: more)
    # A database that is far, or a token that is slow: readiness gives it up.
    patch.setattr(health, "PATIENCE_SECONDS", 0.0)


def _live(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settings, "LIVEMODE", True)
    patch.setattr(settings, "ACQUIRERS", {})
    patch.setattr(deployment, "require_collected", lambda: None)


def _of_the_next_release(patch: pytest.MonkeyPatch) -> None:
    names = {"payer_gate.js": "payer_gate.0123456789ab.js"}
    patch.setattr(storages["staticfiles"], "hashed_files", names)


PLANTED: dict[str, tuple[Plant, list[str]]] = {
    "an old server": (_server(version="14"), ["E002"]),
    "a new server": (_server(version="19"), ["W002"]),
    "another encoding": (_server(encoding="'LATIN1'"), ["E003"]),
    "a superuser": (_server(strong="true"), ["E004"]),
    "the tables' owner": (_rights("'app'"), ["W016"]),
    "a member of the owner": (_rights("'owner'"), ["E017"]),
    "a right to empty": (_changed("GRANT TRUNCATE ON core_process TO app"), ["E018"]),
    "a right to make": (_changed("GRANT CREATE ON SCHEMA public TO app"), ["E018"]),
    "a table out of reach": (_changed("REVOKE UPDATE ON core_process FROM app"), ["E019"]),
    "a function out of reach": (
        _changed("REVOKE EXECUTE ON FUNCTION prune_events FROM app"),
        ["E019"],
    ),
    "a clock ahead": (_server(now="now() + interval '1 hour'"), ["E005"]),
    "no standby is waited for": (_waits("", "on"), ["E022"]),
    "a standby's disk is not waited for": (_waits("ANY 1 (b, c)", "remote_write"), ["E022"]),
    "a wait for a standby that is ended": (_bounded, ["E023"]),
    "a standby is waited for": (_waits("b", "on"), []),
    "no such statement": (_server(now="nothing"), ["E001"]),
    "a migration that lacks": (_not_migrated, ["E006"]),
    "static files of the next release": (_of_the_next_release, ["E007"]),
    "no acquirer": (_live, ["E008"]),
    "a Redis that is away": (_redis_away, ["W009"]),
    "a Redis that saves": (_keep({"save": "60 1", "appendonly": "no"}, "noeviction"), ["E010"]),
    "a Redis that appends": (_keep({"save": "", "appendonly": "yes"}, "noeviction"), ["E010"]),
    "a Redis that forgets": (_keep({"save": "", "appendonly": "no"}, "allkeys-lru"), ["W011"]),
    "a Redis Cluster": (
        _keep({"save": "", "appendonly": "no", "cluster-enabled": "yes"}, "noeviction"),
        ["E020"],
    ),
    "a mail server that is away": (_mail_away, ["E012"]),
    "an address that is away": (_answer(None), ["W013"]),
    "an address that redirects": (_answer(301), ["W015"]),
    "an address that fails": (_answer(502), ["W015"]),
    "an address without our secret key": (_answer(401), ["W024"]),
}


@pytest.mark.every_case("each fault has its finding")
@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_is_found_and_nothing_else(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, wanted = PLANTED[fault]
    plant(monkeypatch)

    assert found() == wanted


def test_a_live_installation_with_an_open_route_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = settings.ACQUIRERS
    _live(monkeypatch)
    monkeypatch.setattr(settings, "ACQUIRERS", kinds)  # With the sandbox's terminal.

    assert found() == []


def test_a_panels_own_host_has_no_api(monkeypatch: pytest.MonkeyPatch) -> None:
    _answer(404, WELL)(monkeypatch)
    monkeypatch.setattr(settings, "PANEL_URL", "https://panel.example")
    monkeypatch.setattr(settings, "PANEL_AT", "panel.example")

    at_both = found()
    monkeypatch.setattr(settings, "LIVEMODE", True)

    assert at_both == ["W015", "W015"]
    # The API's own host is found to lack it, as before.
    assert found().count("W015") == 1


def test_the_tests_own_server_is_read_as_it_is() -> None:
    with connection.cursor() as cursor:
        cursor.execute(deployment.SERVER)
        [[version, encoding, is_strong, _now, role]] = cursor.fetchall()

    assert (version >= deployment.OLDEST, encoding, is_strong, role) == (True, "UTF8", False, "app")
