"""The check of moments finds every moment of a zone that is made past `core/local_days.py`."""

from pathlib import Path

import pytest

from devstack import moments
from devstack.check import checks

HARMLESS = "moment = datetime.fromtimestamp(number, UTC)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a checkout with the door, and one moment in UTC."""
    for path, text in {
        moments.DOOR: "here = moment.astimezone(ZoneInfo(zone))\n",
        "ledger/filters.py": HARMLESS,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_moments_in_utc_pass(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert moments.main(tree) == 0

    assert capsys.readouterr().out == "1 moments read, 0 not in UTC\n"


@pytest.mark.parametrize(
    "planted",
    [
        "moment = datetime.fromtimestamp(number, ZoneInfo(timezone))",
        "moment = datetime.fromtimestamp(number, tz=zone)",
        "moment = datetime.fromtimestamp(number)",
        "here = now.astimezone(zone)",
        "here = now.astimezone()",
        "begins = datetime.combine(day, time.min, self.zone)",
        "begins = datetime.combine(day, time.min, tzinfo=zone)",
        "begins = datetime.datetime.combine(day, time.min)",
        "begins = datetime(2026, 1, 1, tzinfo=zone)",
        "midnight = here.replace(hour=0, minute=0)",
        "here = now.replace(tzinfo=zone)",
        "zone = zoneinfo.ZoneInfo('Europe/Istanbul')",
        "now = datetime.now()",
        "now = datetime.now(zone)",
        "day = date.today()",
        "here = timezone.localtime(now)",
        "sql = 'SELECT created_at AT TIME ZONE %(zone)s AS here'",
        "sql = f'{a} (x AT TIME ZONE %(zone)s)::date, date_trunc(1, x at time zone m.timezone)'",
    ],
)
def test_a_moment_of_a_zone_is_found(
    planted: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "ledger" / "planted.py").write_text(f"{planted}\n")

    assert moments.main(tree) == 1

    assert "ledger/planted.py:1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "harmless",
    [
        "utc = value.astimezone(UTC)",
        "now = datetime.now(UTC)",
        "now = datetime.now(datetime.UTC)",
        "now = timezone.now()",
        "epoch = datetime(1970, 1, 1, tzinfo=UTC)",
        "text = name.replace('a', 'b')",
        "row = instance.replace(status='open')",
        "both = itertools.combine(a, b, c)",
        "sql = 'SELECT (created_at AT TIME ZONE %(zone)s)::date AS day'",
        "sql = '(%(before)s::timestamptz AT TIME ZONE m.timezone)::date'",
        "known = zoneinfo.available_timezones()",
        "def at(moment: datetime) -> date: return local_days.of(moment, zone)",
    ],
)
def test_moments_in_utc_and_days_pass(harmless: str, tree: Path) -> None:
    (tree / "ledger" / "planted.py").write_text(f"{harmless}\n")

    assert moments.main(tree) == 0


def test_reading_nothing_fails(tmp_path: Path) -> None:
    assert moments.main(tmp_path) == 1


def test_it_is_one_of_the_checks(tmp_path: Path) -> None:
    assert "moments" in [check.name for check in checks(tmp_path)]
