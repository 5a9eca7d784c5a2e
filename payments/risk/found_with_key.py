"""The part of the statement that finds a caller's key, which finds what risk needs, too.

So a payment that no rule counts for pays for no statement of its own. No model is imported:
`merchants.authentication` reads this by its setting.
"""

STANDING = """
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
