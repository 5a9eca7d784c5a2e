"""The page of the sandbox's cards: each with the result of each operation."""

from collections.abc import Collection

from acquirers import declines
from acquirers.declines import Decline
from acquirers.outcomes import Answer, Outcome
from acquirers.sandbox import cards
from core.cards import brand_of
from docsite.reference import markdown
from testbank import behaviours
from testbank.behaviours import Behaviour
from testbank.states import DisputeState, RefundState, State

TOP = """\
# Test cards

A sandbox takes these cards, with any expiry date in the future and any security code of three
digits. Every other number is refused with `card_not_supported`, so that no real card enters a
sandbox.

Any card goes through 3-D Secure if you ask for it with `three_d_secure: required`. The simulated
bank's page has four buttons:

- *Approve* goes on as the table says.
- *Reject* and *Cancel* end in `authentication_failed`.
- *Don't answer* ends in `processing`, and the bank says *declined* when it is asked later.

Times are those of the sandbox's clock, which `./dev run python manage.py clock advance` moves.
"""
FACTS = """\
## Their issuers

Only a domestic credit card pays in installments, in the plans of your account.
"""
# Reasons that a person provokes, with any card.
BY_HAND = {
    declines.AUTHENTICATION_FAILED: "any card with 3-D Secure: press *Reject*",
    declines.AUTHENTICATION_ABANDONED: "any card with 3-D Secure: do not return for an hour",
    declines.FRAUD_BLOCKED: "any card that a list or a rule of yours blocks",
}
AUTHENTICATION_FAILED = "`authentication_failed`"


def page() -> str:
    """Return the page."""
    names = ("card", "pay", "pay with 3-D Secure", "capture", "cancel", "refund", "afterwards")
    rows = [
        (
            f"`{number}`", paid(number), paid_with_3ds(card), _captured(card), _canceled(card),
            _refunded(card), _afterwards(card),
        )
        for number, card in behaviours.CARDS.items()
    ]  # fmt: skip
    facts = [(f"`{number}`", *_facts(number)) for number in behaviours.CARDS]
    return "\n".join(
        [
            TOP,
            "## What each operation does\n",
            markdown.table(names, rows),
            FACTS,
            markdown.table(("card", "brand", "type", "country", "issuer"), facts),
        ]
    )


def reason_of(card: Behaviour) -> Decline | None:
    """Return the reason of a card's refusal, None if it does not refuse at once."""
    is_refused = card.state in (State.DECLINED, State.BLOCKED) and not card.silent
    if not is_refused:
        return None
    return declines.explain(
        Outcome(Answer.DECLINED, card.response_code, risk_level=str(card.risk_level))
    )


def provoking(reasons: Collection[Decline]) -> str:
    """Return the cards that are refused for one of the reasons, as a list to read."""
    found = []
    for number, card in behaviours.CARDS.items():
        if reason_of(card) in reasons:
            found.append(f"`{number}`")
        elif not _authenticates(card):
            found += [f"`{number}`"] * (declines.AUTHENTICATION_FAILED in reasons)
        elif card.state is State.DEMANDED_AUTHENTICATION:
            if reason_of(card.authenticated()) in reasons:
                found.append(f"`{number}` after 3-D Secure")
            if declines.AUTHENTICATION_REQUIRED in reasons and not _is_domestic_debit(number):
                found.append(f"`{number}` without a `return_url`")
    found += [text for reason, text in BY_HAND.items() if reason in reasons]
    return ", ".join(found)


def paid(number: str) -> str:
    """Return the result of a payment that does not ask for 3-D Secure."""
    card = behaviours.of(number)
    if _is_domestic_debit(number):
        return "3-D Secure always, then " + paid_with_3ds(card)
    if card.state is State.DEMANDED_AUTHENTICATION:
        if not card.can_authenticate:
            return "3-D Secure is demanded: " + AUTHENTICATION_FAILED
        return "3-D Secure is demanded, then " + paid_with_3ds(card)
    return _result(card)


def paid_with_3ds(card: Behaviour) -> str:
    """Return the result of a payment that the customer approves at the bank."""
    return _result(card.authenticated()) if _authenticates(card) else AUTHENTICATION_FAILED


def _result(card: Behaviour) -> str:
    if reason := reason_of(card):
        return f"`{reason.decline_code}`" if reason.code == "card_declined" else f"`{reason.code}`"
    if card.silent:
        later = {
            State.AUTHORIZED: "approved when the bank is asked",
            State.DECLINED: "declined when the bank is asked",
            State.PENDING: "open until an operator decides",
        }
        return f"`processing`, {later[card.state]}"
    if card.state is State.PENDING:
        seconds = behaviours.DECIDED_AFTER.seconds
        ends = "approved" if card.decides is State.AUTHORIZED else "declined"
        return f"`processing`, {ends} after {seconds} s"
    return "approved"


def _authenticates(card: Behaviour) -> bool:
    return card.can_authenticate and not card.fails_authentication


def _is_domestic_debit(number: str) -> bool:
    """Return whether it is a debit card of the country of the demo's merchant."""
    return number in cards.TURKISH and cards.TURKISH[number].card_type == "debit"


def _holds_money(card: Behaviour) -> bool:
    """Return whether there is ever anything to capture, release or refund."""
    ends = (card, card.authenticated())
    approves = any(State.AUTHORIZED in (one.state, one.decides) for one in ends)
    return approves and _authenticates(card)


def _captured(card: Behaviour) -> str:
    if not _holds_money(card):
        return "—"
    return "refused: released, `requires_payment_method`" if card.refuses_capture else "done"


def _canceled(card: Behaviour) -> str:
    if not _holds_money(card):
        return "—"
    return "refused: `cancel_failed`" if card.refuses_void else "done"


def _refunded(card: Behaviour) -> str:
    if not _holds_money(card):
        return "—"
    if card.refuses_refund:
        return "`failed`, `declined`"
    if card.refund_ends_as is None:
        return "`succeeded`"
    ends = "succeeded" if card.refund_ends_as is RefundState.REFUNDED else "failed"
    return f"`pending`, `{ends}` after {behaviours.DECIDED_AFTER.seconds} s"


def _afterwards(card: Behaviour) -> str:
    if card.is_reported:
        return f"reported as fraud {behaviours.REPORTED_AFTER.seconds} s after the capture"
    if card.complaint is None:
        return "nothing"
    is_inquiry = card.complaint.opens_as is DisputeState.INQUIRY
    noun = "an inquiry" if is_inquiry else "a dispute"
    seconds = behaviours.DISPUTED_AFTER.seconds
    return f"{noun}, reason `{card.complaint.reason}`, {seconds} s after the capture"


def _facts(number: str) -> tuple[str, str, str, str]:
    facts = cards.TURKISH.get(number) or cards.BUILT_IN_BINS[number[:6]]
    return (
        f"`{brand_of(number)}`", f"`{facts.card_type}`", facts.country or "—", facts.issuer or "—"
    )  # fmt: skip
