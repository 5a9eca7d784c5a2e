"""The gate before the bank: an attempt's risk is judged, 3-D Secure demanded, or it is blocked.

In the transaction that writes the attempt, after the payment's lock. The counts are exact, also
for attempts that meet: who counts a card or an e-mail holds its lock until the attempt is
committed, and only those with the same card or e-mail of the same merchant wait for it. A network
is counted without a lock: thousands of payers share a mobile one, and would wait for each other.
What is at the bank at that moment may pass.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Any, NamedTuple

from django.db import connection

from acquirers.conversation import leases
from acquirers.declines import FRAUD_BLOCKED
from acquirers.outcomes import Answer, Outcome
from api import idempotency
from core import clock
from core.errors import ParameterMissing
from merchants.models import Merchant, RuleName
from payments.bank import attempts, authorization
from payments.charging.terms import RETURN_URL, ChargeTerms
from payments.intents import non_secure, render
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import AttemptStatus
from payments.intents.transition import move
from payments.risk import fingerprints, lists, standings, verdicts
from payments.risk.lists import List, Payer
from payments.risk.rules import Rules
from payments.risk.standings import RiskStanding
from payments.risk.verdicts import Counts, Facts, RiskVerdict
from vault import cards

# The first half of an advisory lock's key; the second is a part of the fingerprint.
OF_CARD, OF_EMAIL = 0x72697363, 0x72697365
BY_CARD = (RuleName.CARD_VELOCITY, RuleName.CARD_DECLINES)
BY_EMAIL = (RuleName.EMAIL_VELOCITY, RuleName.EMAIL_CARDS)
BY_NETWORK = (RuleName.ADDRESS_DECLINES,)
COUNTING = (*BY_CARD, *BY_EMAIL, *BY_NETWORK)
# One lock for each key, in one order: two processes whose key rings differ have one in common.
LOCK = "SELECT pg_advisory_xact_lock(%s, part) FROM unnest(%s::integer[]) AS part"
# None is counted further than the rule needs to know; a rule that is off counts none.
COUNT = """
SELECT
    (SELECT count(*) FROM (
        SELECT FROM intents_attempt WHERE card_fingerprint = ANY (%(cards)s::text[]) AND is_counted
            AND merchant_id = %(merchant)s AND created_at > %(card_velocity_since)s
        LIMIT %(card_velocity)s) found),
    (SELECT count(*) FROM (
        SELECT FROM intents_attempt WHERE card_fingerprint = ANY (%(cards)s::text[]) AND is_counted
            AND merchant_id = %(merchant)s AND created_at > %(card_declines_since)s
            AND is_declined
        LIMIT %(card_declines)s) found),
    (SELECT count(*) FROM (
        SELECT FROM intents_attempt WHERE email_fingerprint = ANY (%(emails)s::text[])
            AND is_counted AND merchant_id = %(merchant)s AND created_at > %(email_velocity_since)s
        LIMIT %(email_velocity)s) found),
    (SELECT count(*) FROM (
        SELECT DISTINCT card_fingerprint FROM intents_attempt
        WHERE email_fingerprint = ANY (%(emails)s::text[]) AND is_counted
            AND merchant_id = %(merchant)s AND created_at > %(email_cards_since)s
            AND card_fingerprint <> ALL (%(cards)s::text[])
        LIMIT %(email_cards)s) found),
    (SELECT count(*) FROM (
        SELECT FROM intents_attempt WHERE network_fingerprint = ANY (%(networks)s::text[])
            AND is_declined
            AND merchant_id = %(merchant)s AND created_at > %(address_declines_since)s
        LIMIT %(address_declines)s) found)
"""
# While the fingerprints' key is changed, in front of COUNT: a card that is met again is one card
# under the primary key. What others hold stays, and is met the next time.
RENEW = """
WITH earlier AS (
    SELECT id FROM intents_attempt WHERE card_fingerprint = ANY (%(earlier)s::text[]) AND is_counted
        AND merchant_id = %(merchant)s AND created_at > %(longest)s
    FOR NO KEY UPDATE SKIP LOCKED
), renewed AS (
    UPDATE intents_attempt AS attempt SET card_fingerprint = %(card)s
    FROM earlier WHERE attempt.id = earlier.id
)
"""

BY_RISK = "This payment needs 3-D Secure."  # No rule is named (contract-terms).


class Judged(NamedTuple):
    """A verdict, and the fingerprints by which later attempts find this one."""

    verdict: RiskVerdict
    payer: Payer

    @property
    def columns(self) -> dict[str, Any]:
        """Return what the attempt's row keeps of it."""
        return {
            "risk": asdict(self.verdict),
            "card_fingerprint": self.payer.cards[0],
            "email_fingerprint": fingerprints.of_email(self.payer.merchant_id, self.payer.email),
            "network_fingerprint": next(iter(self.payer.networks), None),
            "is_counted": not self.verdict.is_blocked,
        }


def judge(merchant: Merchant, intent: PaymentIntent, terms: ChargeTerms, now: datetime) -> Judged:
    """Return the verdict about an attempt that is about to open.

    Costs no statement while all counting rules are off and no list has an entry, else three at
    most: the lists, the locks, the counts.

    :param merchant: as the caller's key found it.
    :param intent: locked, its card sealed.
    """
    standing = standings.of(merchant, currency=intent.currency)
    assert intent.sealed_card is not None  # A payment without a card was refused before.
    payer = Payer(
        merchant.id,
        cards=cards.known_fingerprints(intent.sealed_card),
        bin=terms.card["bin"],
        email=terms.billing["email"],
        networks=fingerprints.all_of_network(merchant.id, terms.network) if terms.network else (),
    )
    facts = _facts(standing, intent, terms, payer, now)
    return Judged(verdicts.judge(standing.rules, facts, at=clock.unix(now)), payer)


def _facts(
    standing: RiskStanding, intent: PaymentIntent, terms: ChargeTerms, payer: Payer, now: datetime
) -> Facts:
    listed = lists.matching(payer, now) if standing.has_entries else set()
    is_settled = bool(listed & {List.BLOCK, List.ALLOW})
    billing_country = (terms.billing.get("address") or {}).get("country")
    return Facts(
        amount=intent.amount,
        counts=Counts() if is_settled else _counts(standing.rules, payer, now),
        is_block_listed=List.BLOCK in listed,
        is_allow_listed=List.ALLOW in listed,
        is_card_testing=standing.is_watched(now),
        card_country=terms.card.get("country"),
        billing_country=billing_country and billing_country.upper(),
    )


def _counts(rules: Rules, payer: Payer, now: datetime) -> Counts:
    countable = COUNTING if payer.networks else (*BY_CARD, *BY_EMAIL)
    on = [name for name in countable if rules[name].is_on]
    if not on:
        return Counts()
    emails = fingerprints.all_of_email(payer.merchant_id, payer.email)
    earlier = [one for one in payer.cards if fingerprints.is_superseded(fingerprints.CARD, one)]
    values: dict[str, Any] = {
        "merchant": payer.merchant_id,
        "cards": list(payer.cards),
        "card": payer.cards[0],
        "earlier": earlier,
        "longest": now - fingerprints.WINDOW_MAX,
        "emails": emails,
        "networks": list(payer.networks),
    }
    for name in COUNTING:
        rule = rules[name]
        values[name.value] = (rule.threshold or 0) if name in on else 0
        values[f"{name.value}_since"] = now - rule.window if rule.window else now
    with connection.cursor() as cursor:
        if any(name in on for name in BY_CARD):
            cursor.execute(LOCK, [OF_CARD, _parts(payer.cards)])
        if any(name in on for name in BY_EMAIL):
            cursor.execute(LOCK, [OF_EMAIL, _parts(emails)])
        # A statement of its own: it sees what was committed before the locks were got.
        cursor.execute(RENEW + COUNT if earlier else COUNT, values)
        return Counts(*cursor.fetchone())


def _parts(known: Sequence[str]) -> list[int]:
    """Return 32 bits of each fingerprint, as PostgreSQL's integers, in the order of their locks."""
    return sorted(int.from_bytes(bytes.fromhex(one[-8:]), signed=True) for one in known)


# --- 3-D Secure --------------------------------------------------------------------------------


class Demand(NamedTuple):
    """The columns of an attempt that say whether 3-D Secure is demanded.

    :param non_secure_day: the day whose limit has counted the attempt, if one has.
    """

    authentication_demanded: bool
    non_secure_day: date | None = None


def demand_of(
    intent: PaymentIntent, terms: ChargeTerms, amount: int, verdict: RiskVerdict
) -> Demand:
    """Return the demand, now that the payment is locked, in the transaction of its attempt.

    :param amount: minor units, surcharge included.
    :raises NonSecureNotAllowed: the merchant asked for no 3-D Secure, and its limits forbid that.
    :raises ParameterMissing: the payer must authenticate, and no return URL is known.
    """
    if terms.authentication_demanded or verdict.is_blocked:
        return Demand(terms.authentication_demanded)
    if verdict.demands_authentication:
        return _with_way_back(terms, BY_RISK)
    allowed = non_secure.allow(intent.merchant, amount=amount, currency=intent.currency)
    if allowed:
        return Demand(False, allowed.day)
    if terms.requested == "none":
        reason = non_secure.why_not(intent.merchant, amount=amount, currency=intent.currency)
        advice = f"{reason} Send automatic and a return_url, so that the payer can authenticate."
        raise non_secure.NonSecureNotAllowed(advice=advice)
    if terms.return_url:
        return Demand(True)
    reason = non_secure.why_not(intent.merchant, amount=amount, currency=intent.currency)
    return _with_way_back(terms, f"{BY_RISK} {reason}")


def _with_way_back(terms: ChargeTerms, reason: str) -> Demand:
    if not terms.return_url:
        raise ParameterMissing(param="return_url", advice=f"{reason} {RETURN_URL}")
    return Demand(True)


# --- Blocked ----------------------------------------------------------------------------------


def block(intent: PaymentIntent, attempt: Attempt) -> None:
    """Fail an attempt that was written a moment ago, and record `.payment_failed`.

    The message names no rule: it is shown to the payer (contract-terms, "risk and `fraud`").

    :param intent: locked.
    """
    before = render.payment_intent(intent)
    attempt.error = authorization.error_of(attempt, FRAUD_BLOCKED, Outcome(Answer.DECLINED))
    status = authorization.fail(intent, attempt, AttemptStatus.FAILED)
    leases.end_with(attempt)
    attempt.save()
    attempts.show_attempt(intent, attempt)
    move(intent, status, before, request_id=attempt.request_id, answer=idempotency.answer)
