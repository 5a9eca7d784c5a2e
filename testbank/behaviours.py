"""How the sandbox's cards behave (contract 11).

The book keeps a behaviour's name and never a number, and what happens after the
authorisation is looked up by that name. So two cards that differ only later (in
a capture, a refund, a dispute) have two names already.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

from testbank.states import DisputeState, RefundState, RiskLevel, State

APPROVED = "00"
DO_NOT_HONOR = "05"
IN_PROGRESS = "09"
INVALID_TRANSACTION = "12"
INVALID_AMOUNT = "13"
SOFT_DECLINE = "1A"
# The bank's day is over: the money is on its way to the merchant, and a void comes too late.
SETTLED = "21"
NO_SUCH_RECORD = "25"
EXPIRED_CARD = "54"
SYSTEM_ERROR = "96"
# How long a pending authorisation or refund waits for the bank's word, in the movable clock.
DECIDED_AFTER = timedelta(seconds=5)
# How long after the capture a cardholder complains who does, and how long the bank then takes
# evidence, in the movable clock.
DISPUTED_AFTER = timedelta(seconds=3)
TAKES_EVIDENCE_FOR = timedelta(days=10)
# How long after the capture the network reports a charge as fraud, in the movable clock.
REPORTED_AFTER = timedelta(seconds=3)
# How long an authorisation waits to be captured, in the movable clock.
LAPSES_AFTER = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Complaint:
    """A complaint of the cardholder about what was captured; `opens_as` an inquiry or a dispute."""

    opens_as: DisputeState
    reason: str


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A card's behaviour: the bank's answer to its authorisation, and to everything after it.

    `state` and `response_code` are for an authorisation that comes without authentication.

    :param response_code: the ISO 8583 code of the answer.
    :param silent: the book is written, the caller gets no answer.
    :param decides: the state that a pending authorisation takes later; None: it stays pending.
    :param code_if_authenticated: the answer's code to one that comes with authentication,
        where that changes anything.
    :param can_authenticate: whether 3-D Secure can start at all.
    :param fails_authentication: even if the cardholder approves.
    :param settles_at_once: captured money is refunded and never voided, on the same day too.
    :param refund_ends_as: the state that a refund takes 5 s later; None: it is done at once.
    :param complaint: comes after each capture; None: the cardholder is content.
    :param is_reported: as fraud, after each capture, without a dispute.
    """

    name: str
    state: State
    response_code: str
    silent: bool = False
    risk_level: RiskLevel = RiskLevel.NORMAL
    risk_score: int = 12
    decides: State | None = None
    code_if_authenticated: str | None = None
    can_authenticate: bool = True
    fails_authentication: bool = False
    refuses_capture: bool = False
    refuses_void: bool = False
    refuses_refund: bool = False
    settles_at_once: bool = False
    refund_ends_as: RefundState | None = None
    complaint: Complaint | None = None
    is_reported: bool = False

    def authenticated(self) -> "Behaviour":
        """Return the behaviour towards an authorisation that comes with authentication."""
        if self.code_if_authenticated is None:
            return self
        if self.code_if_authenticated == APPROVED:
            return replace(self, state=State.AUTHORIZED, response_code=APPROVED)
        return self.declined(self.code_if_authenticated)

    def declined(self, response_code: str, *, silent: bool = False) -> "Behaviour":
        """Return the same card's behaviour when the bank declines after all."""
        return replace(self, state=State.DECLINED, response_code=response_code, silent=silent)


def _approve(name: str) -> Behaviour:
    return Behaviour(name, State.AUTHORIZED, APPROVED)


def _refund_later(name: str, ends_as: RefundState) -> Behaviour:
    return replace(_approve(name), settles_at_once=True, refund_ends_as=ends_as)


def _dispute(name: str, reason: str, opens_as: DisputeState = DisputeState.OPEN) -> Behaviour:
    return replace(_approve(name), complaint=Complaint(opens_as, reason))


def _decline(name: str, response_code: str) -> Behaviour:
    return Behaviour(name, State.DECLINED, response_code)


def _demand_authentication(name: str, then: str = DO_NOT_HONOR) -> Behaviour:
    demand = State.DEMANDED_AUTHENTICATION
    return Behaviour(name, demand, SOFT_DECLINE, code_if_authenticated=then)


def _pend(name: str, decides: State) -> Behaviour:
    return Behaviour(name, State.PENDING, IN_PROGRESS, decides=decides)


UNLISTED = replace(_decline("decline_incorrect_number", "14"), can_authenticate=False)
APPROVE = _approve("approve")
CAPTURE_FAILS = replace(_approve("approve_capture_fails"), refuses_capture=True)
VOID_FAILS = replace(
    _approve("approve_void_and_refund_fail"), refuses_void=True, refuses_refund=True
)
AUTHENTICATE_THEN_APPROVE = _demand_authentication("authenticate_then_approve", then=APPROVED)
CANNOT_START = replace(
    _demand_authentication("authentication_cannot_start"), can_authenticate=False
)
ALWAYS_FAILS = replace(
    _demand_authentication("authentication_always_fails"), fails_authentication=True
)
INSUFFICIENT_FUNDS = _decline("decline_insufficient_funds", "51")

CARDS: dict[str, Behaviour] = {
    # Approved.
    "4242424242424242": APPROVE,
    "5528790000000008": APPROVE,
    "5526080000000006": APPROVE,
    "4603450000000000": APPROVE,
    "9792030000000000": APPROVE,
    "4111111111111111": APPROVE,
    "5555555555554444": APPROVE,
    "5400010000000004": APPROVE,
    # Approved now, trouble later.
    "4000001100000066": CAPTURE_FAILS,
    "4000001100000074": VOID_FAILS,
    "4000000000007726": _refund_later("approve_refund_pends_then_succeeds", RefundState.REFUNDED),
    "4000000000005126": _refund_later("approve_refund_pends_then_fails", RefundState.REFUSED),
    "4000000000000259": _dispute("approve_disputed_as_fraudulent", "fraudulent"),
    "4000000000002685": _dispute(
        "approve_disputed_as_product_not_received", "product_not_received"
    ),
    "4000000000001976": _dispute("approve_inquired_about", "general", DisputeState.INQUIRY),
    "4000000000005423": replace(_approve("approve_reported_as_fraud"), is_reported=True),
    # Nothing without the cardholder's authentication.
    "4766620000000001": AUTHENTICATE_THEN_APPROVE,
    "9792020000000001": AUTHENTICATE_THEN_APPROVE,
    "4000002760003184": AUTHENTICATE_THEN_APPROVE,
    "4000008400001629": _demand_authentication("authenticate_then_decline"),
    "4151111111111112": CANNOT_START,
    "4131111111111117": ALWAYS_FAILS,
    # Declined.
    "4000000000000002": _decline("decline_generic", "06"),
    "4000000000009995": INSUFFICIENT_FUNDS,
    "4111111111111129": INSUFFICIENT_FUNDS,
    "4000000000009987": _decline("decline_lost_card", "41"),
    "4000000000009979": _decline("decline_stolen_card", "43"),
    "4000000000000069": _decline("decline_expired_card", EXPIRED_CARD),
    "4000000000000127": _decline("decline_incorrect_cvc", "82"),
    "4000000000000119": _decline("decline_processing_error", SYSTEM_ERROR),
    "4129111111111111": _decline("decline_do_not_honor", DO_NOT_HONOR),
    "4100000000000019": Behaviour(
        "block_highest_risk",
        State.BLOCKED,
        "34",
        risk_level=RiskLevel.HIGHEST,
        risk_score=99,
    ),
    # Late answers and none.
    "4000001100000017": Behaviour("silent_charged", State.AUTHORIZED, APPROVED, silent=True),
    "4000001100000025": Behaviour("silent_not_charged", State.DECLINED, DO_NOT_HONOR, silent=True),
    "4000001100000058": Behaviour("silent_unknown", State.PENDING, IN_PROGRESS, silent=True),
    "4000001100000033": _pend("pend_then_approve", State.AUTHORIZED),
    "4000001100000041": _pend("pend_then_decline", State.DECLINED),
}


BY_NAME = {behaviour.name: behaviour for behaviour in (*CARDS.values(), UNLISTED)}


def of(number: str) -> Behaviour:
    """Return what the bank does with a card; it has never issued an unlisted one."""
    return CARDS.get(number, UNLISTED)
