"""The check of events: an object has an event for each sequence number that was given out."""

from datetime import timedelta

from django.conf import settings

from audit import queries
from audit.findings import Findings
from core import clock
from events.models import Jump

GIVEN_OUT = "SELECT count(*) FROM events_counter"
# Events of a kind of object that is missing here are reported as events of no object: add the kind.
LOST = """
    WITH kept AS (
        SELECT aggregate_id AS id, merchant_id,
            count(*), min(sequence) AS first, max(sequence) AS last
        FROM events_event GROUP BY aggregate_id, merchant_id
    ), jumped AS (
        -- After a restore: numbers behind the newest event, and between two that are kept.
        SELECT j.aggregate_id AS id, j.merchant_id,
            coalesce(sum(j.upto - j.after) FILTER (WHERE j.after >= kept.last), 0) AS behind,
            coalesce(sum(j.upto - j.after)
                FILTER (WHERE j.after >= kept.first AND j.after < kept.last), 0) AS inside
        FROM events_jump j
        JOIN kept ON (kept.id, kept.merchant_id) = (j.aggregate_id, j.merchant_id)
        GROUP BY j.aggregate_id, j.merchant_id
    ), objects AS (
        SELECT id, merchant_id, created_at FROM intents_paymentintent
        UNION ALL SELECT id, merchant_id, created_at FROM refunds_refund
        UNION ALL SELECT id, merchant_id, created_at FROM customers_customer
        UNION ALL SELECT id, merchant_id, created_at FROM disputes_dispute
        UNION ALL SELECT id, merchant_id, created_at FROM payouts_payout
        UNION ALL SELECT id, merchant_id, created_at FROM topups_topup
        UNION ALL SELECT id, merchant_id, created_at FROM checkout_checkoutsession
        UNION ALL SELECT id, id, created_at FROM merchants_merchant
        UNION ALL SELECT 'bal_' || substr(id, 5), id, created_at FROM merchants_merchant
    )
    SELECT format('%%s has %%s events, from %%s to %%s, and %%s were given out%%s',
                  given.aggregate_id, coalesce(kept.count, 0), coalesce(kept.first, 0),
                  coalesce(kept.last, 0), given.last,
                  CASE WHEN objects.id IS NULL THEN '; there is no such object' END)
    FROM events_counter given
    LEFT JOIN kept ON (kept.id, kept.merchant_id) = (given.aggregate_id, given.merchant_id)
    LEFT JOIN jumped
        ON (jumped.id, jumped.merchant_id) = (given.aggregate_id, given.merchant_id)
    LEFT JOIN objects
        ON (objects.id, objects.merchant_id) = (given.aggregate_id, given.merchant_id)
    WHERE objects.id IS NULL
       OR kept.last + coalesce(jumped.behind, 0) <> given.last
       OR kept.count + coalesce(jumped.inside, 0) <> kept.last - kept.first + 1
       OR objects.created_at > %(kept_since)s AND kept.first IS DISTINCT FROM 1
"""


def check() -> Findings:
    """Report gaps, and lost first events that were too young for retention (contract 9)."""
    since = clock.now() - timedelta(days=settings.EVENT_DAYS)
    return queries.look("events of an object have no gap", GIVEN_OUT, LOST, kept_since=since)


def jumps() -> Findings:
    """Count the objects whose numbers were moved after a restore: the one gap that is allowed."""
    return Findings("numbers were left out after a restore alone", Jump.objects.count())
