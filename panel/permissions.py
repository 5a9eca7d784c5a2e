"""The table of roles: which pages a member of a merchant's team may see, and what they may do.

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


_OWNER, _DEVELOPER, _FINANCE, _SUPPORT = (
    Member.Role.OWNER,
    Member.Role.DEVELOPER,
    Member.Role.FINANCE,
    Member.Role.SUPPORT,
)
ROLES: dict[Right, frozenset[str]] = {
    Right.SEE: frozenset({_OWNER, _DEVELOPER, _FINANCE, _SUPPORT}),
    Right.MOVE_MONEY: frozenset({_OWNER, _FINANCE, _SUPPORT}),
    Right.NOTE: frozenset({_OWNER, _DEVELOPER, _FINANCE, _SUPPORT}),
    Right.CHANGE_CUSTOMERS: frozenset({_OWNER, _FINANCE, _SUPPORT}),
    Right.SEE_BALANCE: frozenset({_OWNER, _DEVELOPER, _FINANCE}),
    Right.PAY_OUT: frozenset({_OWNER, _FINANCE}),
    # Keys, endpoints, websites and callbacks.
    Right.DEVELOP: frozenset({_OWNER, _DEVELOPER}),
    # Request logs, events and deliveries.
    Right.SEE_LOGS: frozenset({_OWNER, _DEVELOPER, _SUPPORT}),
    Right.RESEND: frozenset({_OWNER, _DEVELOPER}),
    Right.EXPORT: frozenset({_OWNER, _FINANCE}),
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


# By the names of the addresses in `panel/merchants/urls.py`.
PAGES: dict[str, Rights] = {
    "overview": Rights(Right.SEE),
    "go_live": Rights(Right.SEE),
    "search": Rights(Right.SEE),
    "payments": Rights(Right.SEE),
    "payment": Rights(Right.SEE),
    "payment_now": Rights(Right.SEE),
    "capture_payment": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "cancel_payment": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "refund_payment": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "note_payment": Rights(Right.NOTE, Right.NOTE),
    "block_payer": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "unblock_payer": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "refunds": Rights(Right.SEE),
    "disputes": Rights(Right.SEE),
    "dispute": Rights(Right.SEE),
    "dispute_evidence": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "submit_dispute": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "accept_dispute": Rights(Right.MOVE_MONEY, Right.MOVE_MONEY),
    "balance": Rights(Right.SEE_BALANCE),
    "settlement": Rights(Right.SEE_BALANCE),
    "payouts": Rights(Right.SEE_BALANCE),
    "payout": Rights(Right.SEE_BALANCE),
    "create_payout": Rights(Right.PAY_OUT, Right.PAY_OUT),
    "cancel_payout": Rights(Right.PAY_OUT, Right.PAY_OUT),
    "topups": Rights(Right.SEE_BALANCE),
    "topup": Rights(Right.SEE_BALANCE),
    "create_topup": Rights(Right.PAY_OUT, Right.PAY_OUT),
    "cancel_topup": Rights(Right.PAY_OUT, Right.PAY_OUT),
    "keys": Rights(Right.DEVELOP),
    "create_key": Rights(Right.DEVELOP, Right.DEVELOP),
    "key": Rights(Right.DEVELOP),
    "roll_key": Rights(Right.DEVELOP, Right.DEVELOP),
    "revoke_key": Rights(Right.DEVELOP, Right.DEVELOP),
    "request_logs": Rights(Right.SEE_LOGS),
    "request_errors": Rights(Right.SEE_LOGS),
    "request_log": Rights(Right.SEE_LOGS),
    "websites": Rights(Right.DEVELOP, Right.DEVELOP),
    "remove_website": Rights(Right.DEVELOP, Right.DEVELOP),
    "remove_callback": Rights(Right.DEVELOP, Right.DEVELOP),
    "webhooks": Rights(Right.DEVELOP),
    "add_endpoint": Rights(Right.DEVELOP, Right.DEVELOP),
    "endpoint": Rights(Right.DEVELOP),
    "edit_endpoint": Rights(Right.DEVELOP, Right.DEVELOP),
    "roll_endpoint_secret": Rights(Right.DEVELOP, Right.DEVELOP),
    "disable_endpoint": Rights(Right.DEVELOP, Right.DEVELOP),
    "enable_endpoint": Rights(Right.DEVELOP, Right.DEVELOP),
    "delete_endpoint": Rights(Right.DEVELOP, Right.DEVELOP),
    "replay_endpoint": Rights(Right.DEVELOP, Right.DEVELOP),
    "try_endpoint": Rights(Right.DEVELOP, Right.DEVELOP),
    "delivery": Rights(Right.SEE_LOGS),
    "events": Rights(Right.SEE_LOGS),
    "event": Rights(Right.SEE_LOGS),
    "resend_event": Rights(Right.RESEND, Right.RESEND),
    "team": Rights(Right.OWN),
    "invite": Rights(Right.OWN, Right.OWN),
    "resend_invitation": Rights(Right.OWN, Right.OWN),
    "withdraw_invitation": Rights(Right.OWN, Right.OWN),
    "change_role": Rights(Right.OWN, Right.OWN),
    "remove_member": Rights(Right.OWN, Right.OWN),
    "require_second_factor": Rights(Right.OWN, Right.OWN),
    "customers": Rights(Right.SEE),
    "customer": Rights(Right.SEE),
    "create_customer": Rights(Right.CHANGE_CUSTOMERS, Right.CHANGE_CUSTOMERS),
    "edit_customer": Rights(Right.CHANGE_CUSTOMERS, Right.CHANGE_CUSTOMERS),
    "delete_customer": Rights(Right.CHANGE_CUSTOMERS, Right.CHANGE_CUSTOMERS),
    "settings": Rights(Right.OWN),
    "edit_settings": Rights(Right.OWN, Right.OWN),
    "audit_log": Rights(Right.OWN),
    "audit_entry": Rights(Right.OWN),
    "export_payments": Rights(Right.EXPORT, Right.EXPORT),
    "export_customers": Rights(Right.EXPORT, Right.EXPORT),
    "export_request_logs": Rights(Right.EXPORT_LOGS, Right.EXPORT_LOGS),
    "export_events": Rights(Right.EXPORT_LOGS, Right.EXPORT_LOGS),
    "export_settlement": Rights(Right.EXPORT, Right.EXPORT),
    "export_audit_log": Rights(Right.OWN, Right.OWN),
    # Everybody may go.
    "leave_team": Rights(Right.SEE, Right.SEE),
}


def may(member: Member, right: Right) -> bool:
    """Return whether a member's role has a right."""
    return member.role in ROLES[right]


def may_open(member: Member, page: str) -> bool:
    """Return whether a member's role may see a page, by the name of its address."""
    return may(member, PAGES[page].see)
