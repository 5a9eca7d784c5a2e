"""The end of a NestPay bank's day: the hour that the terminal names, else midnight in Istanbul."""

from datetime import UTC, datetime

import pytest

from acquirers import terminals
from acquirers.models import Terminal
from acquirers.nestpay.gateway import NestPayGateway
from acquirers.set_up import SetUpRefused
from tests.acquirers.nestpay.conftest import VALUES as FEW

VALUES = {**FEW, "api_url": "https://bank.example/fim/api"}


def at(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    """Return a moment by Istanbul's clocks, three hours ahead."""
    return datetime(2026, 3, day, hour - 3, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ends", "moment", "until"),
    [
        ({}, at(10, 23, 59, 59), datetime(2026, 3, 10, 21, tzinfo=UTC)),
        ({"day_ends": "22:30"}, at(10, 12), at(10, 22, 30)),
        ({"day_ends": "22:30"}, at(10, 22, 29, 59), at(10, 22, 30)),
        # The second in which a day ends is the next one's.
        ({"day_ends": "22:30"}, at(10, 22, 30), at(11, 22, 30)),
        ({"day_ends": "22:30"}, at(10, 23), at(11, 22, 30)),
        ({"day_ends": "04:00"}, at(10, 3, 59), at(10, 4)),
    ],
)
def test_money_is_voided_until_the_terminals_hour(
    ends: dict[str, str], moment: datetime, until: datetime
) -> None:
    terminal = Terminal(shown_values=ends)

    assert NestPayGateway().voidable_until(terminal, moment) == until


@pytest.mark.django_db
@pytest.mark.parametrize("ends", ["24:00", "22:60", "22", "2:30", "22:30:00", "22:30+03", "", 22])
def test_an_hour_that_is_none_is_refused(ends: object) -> None:
    with pytest.raises(SetUpRefused, match="^day_ends: malformed"):
        terminals.add("isbank", kind="nestpay", values={**VALUES, "day_ends": ends})


@pytest.mark.django_db
def test_midnight_is_the_default_and_is_shown() -> None:
    terminal = terminals.add("isbank", kind="nestpay", values=VALUES)

    assert terminals.shown(terminal)["values"]["day_ends"] == "00:00"
