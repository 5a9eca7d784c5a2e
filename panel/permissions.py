"""The table of roles: what a member of a merchant's team may see, and what they may do.

Source of the rules: panel contract, table of roles. A page without a row is refused to everybody,
and fails a test.
"""

from enum import StrEnum
from typing import NamedTuple

from merchants.models import Member


class Right(StrEnum):
    """A thing that some roles may do; a page asks for one to be seen, and for one to act."""

    SEE = "see"
    MOVE_MONEY = "move_money"
    NOTE = "note"
    CHANGE_CUSTOMERS = "change_customers"
    SEE_BALANCE = "see_balance"
    PAY_OUT = "pay_out"
    DEVELOP = "develop"
    SEE_LOGS = "see_logs"
    RESEND = "resend"
    EXPORT = "export"
    EXPORT_LOGS = "export_logs"
    OWN = "own"


_OWNER, _DEVELOPER, _FINANCE, _ACCOUNTANT, _SUPPORT = (
    Member.Role.OWNER,
    Member.Role.DEVELOPER,
    Member.Role.FINANCE,
    Member.Role.ACCOUNTANT,
    Member.Role.SUPPORT,
)
ROLES: dict[Right, frozenset[str]] = {
    Right.SEE: frozenset({_OWNER, _DEVELOPER, _FINANCE, _ACCOUNTANT, _SUPPORT}),
    Right.MOVE_MONEY: frozenset({_OWNER, _FINANCE, _SUPPORT}),
    Right.NOTE: frozenset({_OWNER, _DEVELOPER, _FINANCE, _SUPPORT}),
    Right.CHANGE_CUSTOMERS: frozenset({_OWNER, _FINANCE, _SUPPORT}),
    Right.SEE_BALANCE: frozenset({_OWNER, _DEVELOPER, _FINANCE, _ACCOUNTANT}),
    Right.PAY_OUT: frozenset({_OWNER, _FINANCE}),
    # Keys, endpoints, websites and callbacks.
    Right.DEVELOP: frozenset({_OWNER, _DEVELOPER}),
    # Request logs, events and deliveries.
    Right.SEE_LOGS: frozenset({_OWNER, _DEVELOPER, _SUPPORT}),
    Right.RESEND: frozenset({_OWNER, _DEVELOPER}),
    Right.EXPORT: frozenset({_OWNER, _FINANCE, _ACCOUNTANT}),
    Right.EXPORT_LOGS: frozenset({_OWNER, _DEVELOPER}),
    # The team, the merchant's settings and audit log.
    Right.OWN: frozenset({_OWNER}),
}


class Rights(NamedTuple):
    """The rights that a page asks for.

    :param see: to open it.
    :param do: to send its form; None if the page takes no POST.
    """

    see: Right
    do: Right | None = None

    def to(self, method: str) -> Right | None:
        """Return the right that a request by this method needs; None if no role has it."""
        if method in ("GET", "HEAD"):
            return self.see
        return self.do if method == "POST" else None


# By the name of the page's address; `panel.merchants.urls` fills it.
PAGES: dict[str, Rights] = {}


def may(member: Member, right: Right) -> bool:
    """Return whether a member's role has a right."""
    return member.role in ROLES[right]


def may_open(member: Member, page: str) -> bool:
    """Return whether a member's role may see a page, by the name of its address."""
    return may(member, PAGES[page].see)
