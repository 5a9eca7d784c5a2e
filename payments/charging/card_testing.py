"""The job that finds merchants at which cards are being tested, and lets them be watched.

Many different cards of a merchant's are declined within minutes, and most of its attempts are: then
its payers must authenticate for a while (`card_testing`; contract-terms, "risk and `fraud`").
Payments write no row for it: the job reads the declined attempts of the last minutes from a partial
index, and all attempts of those merchants only that have enough of them.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from core import clock
from merchants.models import RiskRule, RuleEffect, RuleName
from payments.risk import rules, watches
from payments.risk.rules import CARD_TESTING_HOLDS, CARD_TESTING_PERCENT

# A merchant's own n, window and deed go over the installation's.
FIND = """
WITH own AS MATERIALIZED (
    SELECT merchant_id, deed, threshold, window_seconds FROM merchants_riskrule
    WHERE rule = 'card_testing'
), suspected AS MATERIALIZED (
    SELECT declined.merchant_id, count(*) AS declines,
        %(now)s - make_interval(secs => coalesce(max(own.window_seconds), %(seconds)s)) AS since
    FROM intents_attempt declined LEFT JOIN own USING (merchant_id)
    WHERE declined.is_declined AND declined.created_at > %(longest)s
        AND declined.created_at >
            %(now)s - make_interval(secs => coalesce(own.window_seconds, %(seconds)s))
        AND coalesce(own.deed, %(deed)s) <> 'off'
    GROUP BY declined.merchant_id
    HAVING count(*) >= min(coalesce(own.threshold, %(threshold)s))
        AND count(DISTINCT declined.card_fingerprint)
            >= min(coalesce(own.threshold, %(threshold)s))
)
SELECT merchant_id FROM suspected
WHERE declines * 100 >= %(percent)s * (
    SELECT count(*) FROM intents_attempt attempt
    WHERE attempt.merchant_id = suspected.merchant_id AND attempt.is_counted
        AND attempt.created_at > suspected.since)
"""


@transaction.atomic(durable=True)
def watch_tested() -> list[str]:
    """Watch the merchants at which cards are being tested now; return their ids.

    Costs one statement if the rule is off everywhere.
    """
    now = clock.now()
    wanted = _wanted(now)
    if wanted is None:
        return []
    with connection.cursor() as cursor:
        cursor.execute(FIND, wanted)
        found = [row[0] for row in cursor.fetchall()]
    watches.watch(found, now=now, until=now + CARD_TESTING_HOLDS)
    return found


def _wanted(now: datetime) -> dict[str, Any] | None:
    rule = rules.of_installation("")[RuleName.CARD_TESTING]
    own = RiskRule.objects.filter(rule=RuleName.CARD_TESTING).exclude(deed=RuleEffect.OFF)
    windows = list(own.values_list("window_seconds", flat=True))
    if not rule.is_on and not windows:
        return None
    assert rule.window is not None  # Its default has one.
    seconds = rule.window.total_seconds()
    longest = max([seconds, *(own_seconds or 0 for own_seconds in windows)])
    return {
        "now": now,
        "deed": rule.deed.value,
        "threshold": rule.threshold,
        "seconds": seconds,
        "longest": now - timedelta(seconds=longest),
        "percent": CARD_TESTING_PERCENT,
    }
