"""The part of the statement that finds a caller's key, which finds the caller's terminal too.

So a payment pays for no statement of its own, and every process sees a changed terminal with its
next request. No model is imported: `merchants.authentication` reads this by its setting.
"""

# A merchant's own before the installation's, the newest before an older one.
TERMINAL = """
    SELECT to_jsonb(terminal)::text FROM acquirers_terminal terminal
    WHERE terminal.status = 'enabled'
      AND (terminal.merchant_id = merchants_merchant.id OR terminal.merchant_id IS NULL)
    ORDER BY terminal.merchant_id, terminal.created_at DESC LIMIT 1
"""
