"""The parts of the statement that finds a caller's key which find more of its merchant.

So a payment costs no statements of their own (`settings.FOUND_WITH_KEY`).
"""

# Addresses that payers may be sent to: hosts of websites, and callback URLs.
SITES = """
    SELECT json_build_array(
        (SELECT json_agg(site.host) FROM merchants_website site
         WHERE site.merchant_id = merchants_merchant.id),
        (SELECT json_agg(callback.url) FROM merchants_callbackurl callback
         WHERE callback.merchant_id = merchants_merchant.id)
    )::text
"""
# In the order of `payments.intents.non_secure.Limit`.
NON_SECURE_LIMITS = """
    SELECT json_agg(json_build_array(own.currency, own.per_payment, own.per_day))::text
    FROM merchants_nonsecurelimit own WHERE own.merchant_id = merchants_merchant.id
"""
