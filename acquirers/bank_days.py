"""Ends of banks' days: at the hour that a terminal names, or at midnight."""

from datetime import datetime, time, timedelta

from acquirers.models import Terminal
from acquirers.set_up import Field
from core import local_days

# Turkish banks close their days by the clocks of Istanbul.
ISTANBUL = "Europe/Istanbul"
# Such as 22:30. Each bank's is its own, so an adapter declares it where a terminal may name it.
DAY_ENDS = Field(
    "day_ends", form=r"([01][0-9]|2[0-3]):[0-5][0-9]", is_required=False, default="00:00"
)


def end_after(terminal: Terminal, moment: datetime) -> datetime:
    """Return the end of the bank's day that a moment lies in; an end begins the next day."""
    ends = time.fromisoformat(terminal.shown_values.get(DAY_ENDS.name, "00:00"))
    today = local_days.of(moment, ISTANBUL)
    end = local_days.at(today, ends, ISTANBUL)
    return end if moment < end else local_days.at(today + timedelta(days=1), ends, ISTANBUL)
