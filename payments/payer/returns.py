"""The payer's return from 3-D Secure, with the bank's answer in their browser (contract 3)."""

import time

from django.db import transaction

import acquirers
from acquirers import payers, slots, standings
from acquirers.conversation import leases, schedule, settling
from acquirers.outcomes import Answer, Outcome
from acquirers.three_d_secure import AskTheBank, Authenticated, Forged, NotAuthenticated, Return
from core import clock, connections, context
from core.arrival import ClientHungUp
from core.errors import UpstreamUnavailable
from events import transitions
from payments.bank import attempts, authorization, payer_addresses
from payments.bank.orders import order_of
from payments.intents.models import Attempt
from payments.intents.states import ATTEMPTS, UNPAID, AttemptStatus
from vault import cvc as vault_cvc

FULL = "1"
ATTEMPTED = ("2", "3", "4")
# If the payer did not authenticate in full, the issuer bears the risk with one of these ECIs only.
ECI_OF_AN_ATTEMPT = ("06", "01")
# Most banks answer within this time. Each further arrival of the same answer holds a thread of the
# web process meanwhile; a client that sends it many times must not hold the threads for as long as
# a silent bank does.
SECOND_ARRIVAL_WAITS_SECONDS = 2
SECOND_LOOK_SECONDS = 0.1


class PayerTooEarly(Exception):
    """The acquirer cannot be asked for a payer who came back; what they brought stays good."""


def accept(attempt: Attempt, raw: bytes, content_type: str) -> None:
    """Take the answer that the payer's browser brought, and ask the bank for the money with it.

    An answer that was used before, or comes too late, changes nothing; if the bank may have
    charged, the sweeper asks it, and what it charged too late is given back. One that is not signed
    can end the attempt, and never brings it on.

    :param raw: the body as it came; the terminal's adapter decodes it.
    :raises Forged: it is not the bank's answer to this attempt.
    :raises PayerTooEarly: no slot came free at the acquirer, or the payer left before one did;
        the answer stays good.
    """
    answer = _read(attempt, raw, content_type)
    if not _is_awaited(attempt, answer):
        raise Forged("The answer is to another authentication.")
    if attempt.status == AttemptStatus.REQUIRES_ACTION and _accept_first(attempt, answer):
        return
    if isinstance(answer, AskTheBank):
        _look_for_a_late_charge(attempt)
    _await_the_first_arrival(attempt)


def _read(attempt: Attempt, raw: bytes, content_type: str) -> Return:
    try:
        gateway = acquirers.of(attempt)
    except UpstreamUnavailable as no_adapter:
        raise PayerTooEarly from no_adapter
    return gateway.read_return(order_of(attempt), raw, content_type)


def _accept_first(attempt: Attempt, answer: Return) -> bool:
    """Resolve the attempt by the answer; False if another arrival of it does.

    A slot is taken only if the bank will be asked.
    """
    if not (isinstance(answer, AskTheBank) or is_enough(attempt, answer)):
        return _resolve_once(attempt, answer)
    try:
        with slots.for_payer_of(attempt.merchant_id):
            return _resolve_once(attempt, answer)
    except (slots.AcquirerBusy, ClientHungUp) as not_now:
        raise PayerTooEarly from not_now


def _resolve_once(attempt: Attempt, answer: Return) -> bool:
    leased = _use_up(attempt, answer)
    if leased is None:
        return False
    context.mark_irrevocable()
    if leased.hand_off:
        vault_cvc.drop(leased.id)  # The bank has it from the payer's browser.
    settling.pursue(attempts.KIND, leased, ask=lambda attempt: _outcome(attempt, answer))
    return True


@transaction.atomic(durable=True)
def _look_for_a_late_charge(attempt: Attempt) -> None:
    """Let the sweeper ask the bank about an attempt that was settled before its payer came back.

    It has ended, or the bank did not say whether it had charged a payer who stayed away.
    """
    _intent, settled = attempts.locked(attempt)
    if settled.status in UNPAID and settled.authorization_code is None:
        schedule.begin_asking(settled, clock.now())
        settled.save()
    elif settled.status == AttemptStatus.PROCESSING and settled.lease_until is None:
        schedule.look_at(settled, clock.now())
        settled.save(update_fields=["due_at"])


def _await_the_first_arrival(attempt: Attempt) -> None:
    """Keep a payer who pressed twice until the first press has resolved the payment, at most 2 s.

    Otherwise the shop would read `requires_action` and say that they did not pay. With a
    bank that takes longer that can happen: the shop then learns the end from the event.
    """
    patience = min(SECOND_ARRIVAL_WAITS_SECONDS, context.remaining_seconds())
    ends_at = time.monotonic() + patience
    at_the_bank = Attempt.objects.filter(
        id=attempt.id, status=AttemptStatus.PROCESSING, lease_until__isnull=False
    )
    while at_the_bank.exists() and time.monotonic() < ends_at:
        connections.give_back()
        time.sleep(SECOND_LOOK_SECONDS)


def _is_awaited(attempt: Attempt, answer: Return) -> bool:
    begun = attempt.authentication.get("transaction_id")
    if not isinstance(answer, Authenticated) or begun is None:
        return True
    return answer.transaction_id == begun


@transaction.atomic(durable=True)
def _use_up(attempt: Attempt, answer: Return) -> Attempt | None:
    """Write the answer into the attempt before the bank is asked, so that it is used only once.

    :returns: the attempt, its lease held; None if the attempt does not await this answer.
    """
    terminal = attempt.terminal
    _intent, attempt = attempts.locked(attempt)
    if attempt.status != AttemptStatus.REQUIRES_ACTION or not _is_awaited(attempt, answer):
        return None
    attempt.terminal = terminal  # It never changes, and need not be read again.
    now = clock.now()
    transitions.change(attempt, AttemptStatus.PROCESSING, table=ATTEMPTS)
    attempt.authenticated_at = now
    if not isinstance(answer, AskTheBank):
        attempt.md_status = answer.md_status
        attempt.authentication |= _shown(attempt, answer)
    if is_enough(attempt, answer):
        _know_the_payer(attempt)
    leases.begin(attempt)
    schedule.begin_asking(attempt, now)
    attempt.save()
    return attempt


def _know_the_payer(attempt: Attempt) -> None:
    """Let the bank's request carry the address of the browser that came back.

    Where a press of ours led to the bank, the address of that press stays.
    """
    address = None if attempt.hand_off else payer_addresses.note_page(attempt)
    if address:
        payers.seal(attempt.sealed_card, address)


def _shown(attempt: Attempt, answer: Authenticated | NotAuthenticated) -> dict[str, str | None]:
    if isinstance(answer, NotAuthenticated):
        return {"result": "failed"}
    result = "authenticated" if answer.md_status == FULL else "attempted"
    return {
        "result": result if is_enough(attempt, answer) else "failed",
        "eci": answer.eci,
        "transaction_id": answer.transaction_id,
    }


def is_enough(attempt: Attempt, answer: Return) -> bool:
    """Return whether the authentication suffices to ask the bank for the money (contract 3)."""
    if not isinstance(answer, Authenticated):
        return False
    if answer.md_status == FULL:
        return True
    is_domestic_debit = attempt.card["domestic"] and attempt.card["card_type"] == "debit"
    has_proof = answer.eci in ECI_OF_AN_ATTEMPT and answer.has_proof
    return answer.md_status in ATTEMPTED and has_proof and not is_domestic_debit


def _outcome(attempt: Attempt, answer: Return) -> Outcome:
    """Ask the bank for the money, with the proof; ask nothing if the authentication failed."""
    if isinstance(answer, AskTheBank):
        return standings.authorization(acquirers.of(attempt).inquire(order_of(attempt)))
    if isinstance(answer, Authenticated) and is_enough(attempt, answer):
        return authorization.authorize(attempt, cvc=None, proof=answer.proof)
    return Outcome(Answer.AUTHENTICATION_REQUIRED)
