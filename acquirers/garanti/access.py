"""A terminal's values as the bank gave them, by names instead of texts."""

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
LEVELS = {OURS: "3D", BANKS: "3D_PAY"}

FIELDS = (
    API_URL,
    GATE_URL,
    Field("model", form=f"{OURS}|{BANKS}", default=OURS),
    Field("mode", form="TEST|PROD", default="PROD"),
    Field("merchant_id", form=r"[0-9]{1,9}"),
    Field("terminal_id", form=r"[0-9]{1,9}"),
    Field("user"),
    Field("password", is_secret=True, form=PASSWORD),
    # The one for voids and refunds.
    Field("refund_user"),
    Field("refund_password", is_secret=True, form=PASSWORD),
    Field("store_key", is_secret=True, form=PASSWORD),
    # The customer's address is mandatory in each message: this one where there is no customer.
    Field("ip_address", form=r"[0-9A-Fa-f:.]{2,45}", default="127.0.0.1"),
    ACCEPTS_ATTEMPTED,
    TIMEOUT_SECONDS,
    DAY_ENDS,
)


@dataclass(frozen=True, slots=True)
class User:
    """A user of the bank's API; its password makes the hash of what it sends, and of the answer."""

    name: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """The way to the bank of one terminal."""

    api_url: str
    gate_url: str
    model: str
    mode: str
    merchant_id: str
    terminal_id: str
    ip_address: str
    accepts_attempted: bool
    seller: User
    refunder: User
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
        mode=told["mode"],
        merchant_id=told["merchant_id"],
        terminal_id=told["terminal_id"],
        ip_address=told["ip_address"],
        accepts_attempted=told["accepts_attempted"] == YES,
        seller=User(told["user"], told["password"]),
        refunder=User(told["refund_user"], told["refund_password"]),
        store_key=told["store_key"],
    )
