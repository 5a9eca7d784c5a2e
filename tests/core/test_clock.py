"""The sandbox's clock: moved by a command, seen by everything that goes by it."""

import time
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from core import clock
from core.models import Clock
from tests.stage.client import ApiClient
from tests.stage.threads import together

pytestmark = pytest.mark.django_db


def say(*arguments: str) -> str:
    said = StringIO()
    call_command("clock", *arguments, stdout=said)
    return said.getvalue()


@pytest.mark.parametrize(
    ("span", "seconds"),
    [("1s", 1), ("90s", 90), ("5m", 300), ("6h", 21_600), ("7d", 604_800), ("1d12h", 129_600)],
)
def test_the_clock_moves_by_what_was_said(span: str, seconds: int) -> None:
    say("advance", span)

    assert clock.offset_seconds() == seconds


def test_advances_add_up_and_are_shown(acme: ApiClient) -> None:
    say("advance", "7d")

    assert "7 days, 0:00:05 ahead of real time" in say("advance", "5s")
    assert "7 days, 0:00:05 ahead of real time" in say("show")


def test_what_is_made_after_an_advance_is_made_later(acme: ApiClient) -> None:
    say("advance", "7d")

    created = acme.post("/v1/customers", {})["created"]

    assert created == pytest.approx(time.time() + 604_800, abs=5)


@pytest.mark.parametrize(
    "span", ["", "7", "d", "-7d", "+7d", "7w", "7 d", "1.5h", "1e3s", "٧d", "999999d"]
)
def test_what_is_no_span_is_refused(span: str) -> None:
    with pytest.raises(CommandError):
        say("advance", f"{span}")

    assert not Clock.objects.exists()


def test_a_live_clock_does_not_move(settings: object) -> None:
    settings.LIVEMODE = True

    for arguments in (("show",), ("advance", "1d")):
        with pytest.raises(CommandError, match="live installation does not move"):
            say(*arguments)


@pytest.mark.django_db(transaction=True)
def test_advances_at_once_all_count() -> None:
    together([lambda: clock.advance(timedelta(seconds=60))] * 8)

    assert clock.offset_seconds() == 480
