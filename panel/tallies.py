"""The counts of what waits for a merchant's people, in one statement: the navigation shows them.

Each is counted to `MOST`.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from core import clock
from merchants.models import Member, Merchant
from payments.disputes.states import ANSWERABLE
from payments.intents.deadlines import AUTHORIZATION_LIVES

MOST = 100
# A payment without the bank's answer for so long; an authorisation, and a key, that end so soon.
WITHOUT_ANSWER, ENDS_SOON = timedelta(minutes=15), timedelta(days=2)
KEYS_SOON = timedelta(days=14)
# A payout that failed longer ago waits for nobody any more.
FAILED_LATELY = timedelta(days=14)

COUNTS = """
SELECT disputes.count, silent.count, silent.since, ending.count, ending.since, payouts.count,
    payouts.since, refunds.count, endpoints.count, keys.count
FROM (
    SELECT count(*) FROM (
        SELECT FROM disputes_dispute
        WHERE merchant_id = %(merchant)s AND status = ANY(%(answerable)s)
            AND evidence_due_by > %(now)s LIMIT %(most)s
    ) AS found
) AS disputes, (
    SELECT count(*), min(since) AS since FROM (
        SELECT coalesce(attempt.asked_at, change.asked_at) AS since
        FROM intents_paymentintent AS payment
        LEFT JOIN LATERAL (
            SELECT id, asked_at FROM intents_attempt
            WHERE intent_id = payment.id AND status = 'processing' LIMIT 1
        ) AS attempt ON true
        LEFT JOIN LATERAL (
            SELECT changed.asked_at FROM intents_modification AS changed
            JOIN intents_attempt AS whole ON whole.id = changed.attempt_id
            WHERE whole.intent_id = payment.id AND changed.status = 'processing' LIMIT 1
        ) AS change ON true
        WHERE payment.merchant_id = %(merchant)s AND payment.status = 'processing'
            AND payment.created_at <= %(silent)s
            AND coalesce(attempt.asked_at, change.asked_at) <= %(silent)s
        LIMIT %(most)s
    ) AS found
) AS silent, (
    SELECT count(*), min(since) AS since FROM (
        SELECT attempt.asked_at AS since
        FROM intents_paymentintent AS payment
        JOIN intents_attempt AS attempt
            ON attempt.intent_id = payment.id AND attempt.status = 'authorized'
        WHERE payment.merchant_id = %(merchant)s AND payment.status = 'requires_capture'
            AND payment.created_at <= %(authorized)s AND attempt.asked_at <= %(authorized)s
        ORDER BY payment.created_at LIMIT %(most)s
    ) AS found
) AS ending, (
    SELECT count(*), min(since) AS since FROM (
        SELECT failed.closed_at AS since FROM payouts_payout AS failed
        WHERE failed.merchant_id = %(merchant)s AND failed.status = 'failed'
            AND failed.closed_at > %(failed)s
            AND NOT EXISTS (
                SELECT FROM payouts_payout AS later
                WHERE later.merchant_id = failed.merchant_id AND later.currency = failed.currency
                    AND later.created_at > failed.created_at
                    AND later.status IN ('pending', 'in_transit', 'paid'))
        LIMIT %(most)s
    ) AS found
) AS payouts, (
    SELECT count(*) FROM (
        SELECT FROM refunds_refund
        WHERE merchant_id = %(merchant)s AND status = 'pending'
            AND pending_reason = 'insufficient_funds' LIMIT %(most)s
    ) AS found
) AS refunds, (
    SELECT count(*) FROM webhooks_endpoint
    WHERE merchant_id = %(merchant)s AND deleted_at IS NULL
        AND (status = 'failing' OR status = 'enabled' AND troubled_at IS NOT NULL)
) AS endpoints, (
    SELECT count(*) FROM merchants_apikey
    WHERE merchant_id = %(merchant)s AND revoked_at IS NULL
        AND expires_at > %(today)s AND expires_at <= %(keys)s
) AS keys
"""


class Tallies(NamedTuple):
    """Counts of what waits, each at most `MOST`.

    :param disputes: that need an answer.
    :param silent: payments without the bank's answer; the first was asked at `silent_since`.
    :param ending: authorisations that end soon; the first was asked for at `ending_since`.
    :param payouts: that failed lately, with none after them in their currency.
    :param refunds: that wait for the balance.
    :param endpoints: that fail or are in trouble; `keys`: that expire soon.
    """

    disputes: int
    silent: int
    silent_since: datetime | None
    ending: int
    ending_since: datetime | None
    payouts: int
    payouts_since: datetime | None
    refunds: int
    endpoints: int
    keys: int

    @property
    def by_page(self) -> dict[str, int]:
        """Return what waits at each page of the navigation, by the page's name."""
        return {
            "payments": self.silent + self.ending,
            "disputes": self.disputes,
            "balance": self.payouts,
            "webhooks": self.endpoints,
            "keys": self.keys,
        }

    @property
    def first_ends_at(self) -> datetime | None:
        """Return when the first of the authorisations ends."""
        return self.ending_since + AUTHORIZATION_LIVES if self.ending_since else None


def of(member: Member) -> Tallies:
    """Return what waits for a member's merchant, asked for once in a request."""
    found: Tallies | None = getattr(member, "tallies", None)
    if found is None:
        found = member.tallies = read(member.merchant)  # type: ignore[attr-defined]
    return found


def read(merchant: Merchant) -> Tallies:
    """Return what waits for a merchant's people now."""
    now, today = clock.now(), timezone.now()
    values = {
        "merchant": merchant.id,
        "answerable": [*ANSWERABLE],
        "now": now,
        "silent": now - WITHOUT_ANSWER,
        "authorized": now - (AUTHORIZATION_LIVES - ENDS_SOON),
        "failed": now - FAILED_LATELY,
        "today": today,
        "keys": today + KEYS_SOON,
        "most": MOST,
    }
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, values)
        return Tallies(*cursor.fetchone())
