"""A terminal's values as its bank gave them, by names instead of texts."""

from dataclasses import dataclass, field

from acquirers.bank_days import DAY_ENDS
from acquirers.models import Terminal
from acquirers.set_up import (
    ACCEPTS_ATTEMPTED,
    API_URL,
    GATE_URL,
    PASSWORD,
    TIMEOUT_SECONDS,
    YES,
    Field,
)
from acquirers.terminals import credentials_of

# The bank charges in a call of ours after the payer's return, or by itself before it.
OURS, BANKS = "3d", "3d_pay"

FIELDS = (
    API_URL,
    GATE_URL,
    Field("model", form=f"{OURS}|{BANKS}", default=OURS),
    Field("client_id", form=r"[0-9]{1,15}"),
    Field("user"),
    Field("password", is_secret=True, form=PASSWORD),
    Field("store_key", is_secret=True, form=PASSWORD),
    ACCEPTS_ATTEMPTED,
    TIMEOUT_SECONDS,
    DAY_ENDS,
)


@dataclass(frozen=True, slots=True)
class Access:
    """The way to the bank of one terminal."""

    api_url: str
    gate_url: str
    model: str
    client_id: str
    user: str
    accepts_attempted: bool
    password: str = field(repr=False)
    store_key: str = field(repr=False)


def access_of(terminal: Terminal) -> Access:
    """Return the way to a terminal's bank.

    :raises CredentialsUnreadable: its secrets do not open.
    """
    told = credentials_of(terminal)
    return Access(
        api_url=told["api_url"],
        gate_url=told["gate_url"],
        model=told["model"],
        client_id=told["client_id"],
        user=told["user"],
        accepts_attempted=told["accepts_attempted"] == YES,
        password=told["password"],
        store_key=told["store_key"],
    )
