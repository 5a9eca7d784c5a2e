"""A process runs on the schema of its release, and on the next one's; on no other."""

from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from core import release
from tests.stage.database_role import as_owner
from tests.stage.processes import run

pytestmark = pytest.mark.django_db


APPLY = "INSERT INTO django_migrations (app, name, applied) VALUES ('core', %s, now())"


def apply(*names: str) -> None:
    """Let the database say that migrations of `core` were applied."""
    with as_owner() as owner:
        for name in names:
            owner.execute(APPLY, [name])


def newest_is_not_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    more = release.own_migrations() | {("core", "9999_more")}
    monkeypatch.setattr(release, "own_migrations", lambda: more)


def version() -> tuple[str, str, int]:
    said, wrong, status = StringIO(), StringIO(), 0
    try:
        call_command("version", stdout=said, stderr=wrong)
    except SystemExit as end:
        status = int(str(end.code))
    return said.getvalue(), wrong.getvalue(), status


def test_the_schema_of_this_release_is_borne() -> None:
    release.require_borne_schema()

    said, wrong, status = version()

    assert (wrong, status) == ("", 0)
    assert said.startswith(f"release {release.VERSION}\n")
    assert len(release.own_migrations()) > 60


def test_a_database_that_lacks_a_migration_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    newest_is_not_applied(monkeypatch)

    with pytest.raises(ImproperlyConfigured, match=r"lacks 1 migrations.* core\.9999_more\. Run"):
        release.require_borne_schema()

    assert version()[2] == 1


def test_the_schema_of_the_next_release_is_borne() -> None:
    apply("9998_expand", "9999_contract_since_0_1")

    release.require_borne_schema()

    said, _wrong, status = version()
    assert (said.count("newer"), status) == (2, 0)


@pytest.mark.parametrize("since", ["0_2", "1_0", "10_0"])
def test_a_schema_that_lost_something_for_a_later_release_is_not_borne(since: str) -> None:
    apply(f"9999_contract_since_{since}")

    with pytest.raises(ImproperlyConfigured, match="is newer than this release"):
        release.require_borne_schema()

    said, wrong, status = version()
    assert (said.count("not borne"), status) == (1, 1)
    assert f"since_{since}" in wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    "process",
    [
        ("-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"),
        ("-m", "celery", "-A", "config", "worker", "-P", "solo"),
        ("manage.py", "deliver_webhooks"),
    ],
    ids=["web", "worker", "sender"],
)
@pytest.mark.django_db(transaction=True)
def test_no_process_starts_on_a_schema_that_it_does_not_bear(process: tuple[str, ...]) -> None:
    apply("9999_contract_since_9_0")
    try:
        status, said = run(*process, WEB_BIND="127.0.0.1:0")
    finally:
        with as_owner() as owner:
            owner.execute("DELETE FROM django_migrations WHERE name = '9999_contract_since_9_0'")

    assert status not in (0, -9)
    assert "core.9999_contract_since_9_0 took something away that it uses" in said


@pytest.mark.slow
def test_the_command_shows_our_version_and_not_djangos() -> None:
    status, said = run("manage.py", "version")

    assert (status, said.splitlines()[0]) == (0, f"release {release.VERSION}")
