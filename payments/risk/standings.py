"""The standing of a merchant: its rules, whether lists must be asked, whether it is watched."""

from datetime import UTC, datetime
from typing import NamedTuple

import orjson
from django.db import connection

from merchants.models import Merchant
from payments.risk import rules
from payments.risk.rules import Rules, Setting

CALLER = "risk"  # Its name in `config.caller`.
OF_CALLER = """
    SELECT json_build_object(
        'rules', (
            SELECT json_agg(json_build_array(
                rule.rule, rule.currency, rule.deed, rule.threshold, rule.window_seconds))
            FROM merchants_riskrule rule WHERE rule.merchant_id = merchants_merchant.id),
        'has_entries',
            EXISTS (SELECT FROM risk_listentry e WHERE e.merchant_id = merchants_merchant.id)
            OR EXISTS (SELECT FROM risk_listentry e WHERE e.merchant_id IS NULL),
        'watched_until', (
            SELECT extract(epoch FROM watch.until) FROM risk_watch watch
            WHERE watch.merchant_id = merchants_merchant.id)
    )::text
"""
OF_MERCHANT = f"SELECT ({OF_CALLER}) FROM merchants_merchant WHERE id = %s"  # noqa: S608


class RiskStanding(NamedTuple):
    """The standing of one merchant.

    :param has_entries: the merchant or the installation has entries in its lists.
    :param watched_until: until then cards may be being tested at the merchant; None: they are not.
    """

    rules: Rules
    has_entries: bool
    watched_until: datetime | None

    def is_watched(self, now: datetime) -> bool:
        """Return whether `card_testing` holds."""
        return self.watched_until is not None and now < self.watched_until


def of(merchant: Merchant, *, currency: str) -> RiskStanding:
    """Return a merchant's standing for payments in a currency.

    Costs no statement if the merchant came with an API key.
    """
    found = orjson.loads(_found(merchant) or "{}")
    own = [Setting(*row) for row in found.get("rules") or ()]
    until = found.get("watched_until")
    return RiskStanding(
        rules=rules.with_settings(rules.of_installation(currency), own, currency),
        has_entries=bool(found.get("has_entries")),
        watched_until=datetime.fromtimestamp(until, UTC) if until is not None else None,
    )


def _found(merchant: Merchant) -> str | None:
    if merchant.caller is not None:
        return merchant.caller[CALLER]
    with connection.cursor() as cursor:
        cursor.execute(OF_MERCHANT, [merchant.id])
        row = cursor.fetchone()
    return row[0] if row else None
