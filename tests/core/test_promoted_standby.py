"""A real standby: in recovery it is no copy, and once it is promoted it is held at once.

A synchronous one is held until beat has looked at it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.test import override_settings

from core import heartbeat, installation, marks
from devstack.servers import Servers
from tests.stage.standbys import Pair, standby_of, superusers

pytestmark = pytest.mark.slow


def is_held(address: str, *, is_synchronous: bool = False) -> bool:
    """:param is_synchronous: as SYNCHRONOUS_STANDBYS says it."""
    with override_settings(SYNCHRONOUS_STANDBYS=is_synchronous), psycopg.connect(address) as raw:
        return bool(raw.execute(f"SELECT {installation.is_held_column()}").fetchone()[0])


def test_a_promoted_standby_is_held_by_its_first_statement(
    own_servers: Servers, own_settings: dict[str, str]
) -> None:
    address = superusers(own_settings["DATABASE_URL"])
    with psycopg.connect(address) as raw:
        raw.execute(installation.FOUND, ["one"])
        raw.execute(marks.MARK, ["a"])

    with standby_of(own_servers, address) as servers:
        standby = superusers(address, servers)
        in_recovery = is_held(standby)
        with psycopg.connect(standby, autocommit=True) as raw:
            raw.execute("SELECT pg_promote(wait => true)")
        promoted = is_held(standby)
        with psycopg.connect(standby) as raw:
            raw.execute(installation.OPEN, [False])
        opened = is_held(standby)
        with standby_of(servers, standby) as second:
            again = superusers(address, second)
            with psycopg.connect(again, autocommit=True) as raw:
                raw.execute("SELECT pg_promote(wait => true)")
            promoted_twice = is_held(again)

    assert (is_held(address), in_recovery, promoted) == (False, False, True)
    assert (opened, promoted_twice) == (False, True)


@pytest.fixture
def pair(settings: Any, tmp_path: Path) -> Iterator[Pair]:
    settings.SYNCHRONOUS_STANDBYS, settings.MARK_FILE = True, tmp_path / "mark"
    pair = Pair()
    yield pair
    pair.stop()


def beat(pair: Pair) -> None:
    with psycopg.connect(pair.address(), autocommit=True) as raw:
        marks.keep(raw)


def test_a_synchronous_standby_takes_changes_once_beat_has_looked_at_it(pair: Pair) -> None:
    beat(pair)

    pair.fail_over()

    assert is_held(pair.address(), is_synchronous=True)
    beat(pair)
    assert not is_held(pair.address(), is_synchronous=True)
    # Its own commits wait for no standby yet: the next promotion needs a person.
    with psycopg.connect(pair.address()) as raw:
        assert raw.execute("SELECT is_waited_for FROM core_installation").fetchone() == (False,)


@pytest.mark.parametrize("has_the_mark", [True, False])
def test_a_standby_that_fell_asynchronous_is_held(pair: Pair, has_the_mark: bool) -> None:
    """The newest mark of the time of waiting is young: of this minute."""
    beat(pair)
    if not has_the_mark:
        pair.cut()
    pair.stop_waiting()
    refused = is_held(pair.address(), is_synchronous=True)
    beat(pair)
    pair.await_standby() if has_the_mark else None
    taken = not is_held(pair.address(), is_synchronous=True)

    pair.fail_over()
    beat(pair)

    assert (refused, taken) == (True, True)
    assert is_held(pair.address(), is_synchronous=True)


def test_a_dead_primary_that_comes_back_is_held_by_beats_next_look(
    pair: Pair, settings: Any
) -> None:
    """The first writable host of the address is taken, and that is the old one."""
    settings.SYNCHRONOUS_STANDBYS = False  # Otherwise its commits would wait, or be refused.
    one = heartbeat.Heartbeat("beat")
    look(one, pair)
    pair.fail_over()
    with psycopg.connect(pair.address()) as raw:
        raw.execute(installation.OPEN, [False])  # As an operator does.
    beat(pair)

    pair.bring_back()
    at_the_old = is_held(pair.address())
    look(one, pair)

    assert not at_the_old
    assert is_held(pair.address())
    assert not is_held(pair.address_of_leading())
    # The new one lacks the payments of the old one: it is compared once that is gone.
    beat(pair)
    pair.kill_following()
    beat(pair)
    assert is_held(pair.address())


def look(beat: heartbeat.Heartbeat, pair: Pair) -> None:
    with psycopg.connect(pair.address(), autocommit=True) as raw:
        beat._look_at_installation(raw)
