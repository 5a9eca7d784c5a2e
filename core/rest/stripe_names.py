"""Names of Stripe's API that this service does not have, each with what to use instead.

Code that was written for Stripe sends them. The tables are asked for unknown names alone, so an
endpoint that knows one of the names takes it.
"""

_NO_STORED_CARDS = (
    "Send the card in payment_method_data with each payment: no card is kept under an id."
)
_CARDS_ONLY = "Leave it out: cards are the only method."
_BY_STATUS = "Leave it out, and read the payment's status: a decline and 3-D Secure are answers."
_NO_CONNECT = "Leave it out: a key belongs to one merchant, and there are no connected accounts."
_NO_BROWSER_KEY = (
    "Leave it out: a browser gets no secret. Send the payer to the url of a checkout session, or to"
    " next_action[redirect_to_url][url]."
)
_NO_MANDATE = "Leave it out: the payer is there for each payment, and nothing is kept for later."
_PAGE_HAS_NONE = "Leave it out: the payment page asks for the card and the billing details alone."
_LINE_TERMS = "Give each line a name and a unit_amount, or price_data: there is no catalogue."

# Parameters of bodies and queries, by their own name: `payment_method_data[token]` is `token`.
PARAMETERS = {
    # Of a payment.
    "application_fee_amount": _NO_CONNECT,
    "automatic_payment_methods": _CARDS_ONLY,
    "charge": "Send payment_intent: refunds and disputes are of a payment.",
    "client_secret": _NO_BROWSER_KEY,
    "confirmation_method": "Leave it out: each confirm is a call of your server.",
    "confirmation_token": _NO_STORED_CARDS,
    "error_on_requires_action": (
        "Leave it out. Send payment_method_options[card][three_d_secure] as none to go without 3-D "
        "Secure."
    ),
    "excluded_payment_method_types": _CARDS_ONLY,
    "invoice": "Leave it out, or put the invoice's number in metadata.",
    "mandate": _NO_MANDATE,
    "mandate_data": _NO_MANDATE,
    "off_session": _NO_MANDATE,
    "on_behalf_of": _NO_CONNECT,
    "payment_method": _NO_STORED_CARDS,
    "payment_method_configuration": _CARDS_ONLY,
    "payment_method_types": _CARDS_ONLY,
    "radar_options": "Leave it out: an operator sets the rules of risk.",
    "receipt_email": "Send the payer's e-mail in payment_method_data[billing_details][email].",
    "request_three_d_secure": (
        "Send payment_method_options[card][three_d_secure]: automatic, required or none."
    ),
    "return_url": "Send it with confirm, or send a checkout session success_url and cancel_url.",
    "save_payment_method": _NO_MANDATE,
    "setup_future_usage": _NO_MANDATE,
    "shipping": "Send a customer with shipping, and shipping costs as one of line_items.",
    "source": _NO_STORED_CARDS,
    "source_data": _NO_STORED_CARDS,
    "statement_descriptor": "Leave it out: payouts have one, payments have none.",
    "statement_descriptor_suffix": "Leave it out: payouts have statement_descriptor alone.",
    "token": _NO_STORED_CARDS,
    "transfer_data": _NO_CONNECT,
    "transfer_group": _NO_CONNECT,
    "use_stripe_sdk": _BY_STATUS,
    # Of captures, refunds and payouts.
    "final_capture": "Leave it out: a payment is captured once, and the rest is released.",
    "instructions_email": "Leave it out: a refund goes to the card, and no mail is sent.",
    "method": "Leave it out: the service chooses it.",
    "origin": "Leave it out: a refund is taken from your balance.",
    "refund_application_fee": _NO_CONNECT,
    "reverse_transfer": _NO_CONNECT,
    "source_type": "Leave it out: there is one balance for each currency.",
    # Of customers.
    "balance": "Leave it out: a customer has no balance. Refund the payment instead.",
    "coupon": "Leave it out: send lines with discount_amount.",
    "invoice_settings": "Leave it out: there are no invoices.",
    "tax_exempt": "Leave it out: send lines with tax_amount.",
    # Of checkout sessions.
    "adjustable_quantity": _PAGE_HAS_NONE,
    "after_expiration": "Make another session when checkout.session.expired comes.",
    "consent_collection": _PAGE_HAS_NONE,
    "custom_fields": _PAGE_HAS_NONE,
    "custom_text": _PAGE_HAS_NONE,
    "discounts": "Leave it out: send lines with discount_amount.",
    "invoice_creation": "Leave it out: there are no invoices.",
    "payment_method_collection": _PAGE_HAS_NONE,
    "phone_number_collection": _PAGE_HAS_NONE,
    "price": _LINE_TERMS,
    "product": "Send product_data with a name: there is no catalogue.",
    "recurring": "Leave it out: each payment is paid once, there are no subscriptions.",
    "saved_payment_method_options": _NO_MANDATE,
    "setup_intent_data": _NO_MANDATE,
    "shipping_address_collection": _PAGE_HAS_NONE,
    "shipping_options": "Leave it out: send the shipping costs as one of line_items.",
    "subscription_data": "Leave it out: each payment is paid once, there are no subscriptions.",
    "tax_id_collection": _PAGE_HAS_NONE,
    "tax_rates": "Leave it out: send lines with tax_amount.",
    # Of lists, searches and webhook endpoints.
    "api_version": "Leave it out: an endpoint's events are in your account's version.",
    "connect": _NO_CONNECT,
    "query": "Send q: it finds ids, e-mail addresses and descriptions, without a language.",
}

_TO_PAYMENTS = "Take payments by /v1/payment_intents. Each has its attempts, as Stripe has charges."
_TO_LINES = "There is no catalogue. Send line_items with the payment or its checkout session."
_TO_CARD = "No card is kept under an id: send payment_method_data to /v1/payment_intents."
_TO_ONE_PAYMENT = "There are no subscriptions and no invoices: make a payment for each amount."
_TO_MERCHANT = "A key belongs to one account: read it at /v1/merchant."

# Parts of paths below `/v1/`.
PATHS = {
    "account": _TO_MERCHANT,
    "accounts": _TO_MERCHANT,
    "application_fees": _TO_MERCHANT,
    "charges": _TO_PAYMENTS,
    "confirmation_tokens": _TO_CARD,
    "coupons": _TO_LINES,
    "credit_notes": _TO_ONE_PAYMENT,
    "files": "Evidence of a dispute is text: send evidence to /v1/disputes/{id}.",
    "history": "Read the movements at /v1/balance_transactions.",
    "increment_authorization": "An authorisation does not grow: make another payment.",
    "invoiceitems": _TO_ONE_PAYMENT,
    "invoices": _TO_ONE_PAYMENT,
    "payment_links": "A link to pay once is the url of a session: POST /v1/checkout/sessions.",
    "payment_methods": _TO_CARD,
    "plans": _TO_ONE_PAYMENT,
    "prices": _TO_LINES,
    "products": _TO_LINES,
    "promotion_codes": _TO_LINES,
    "setup_intents": _TO_CARD,
    "sources": _TO_CARD,
    "subscription_items": _TO_ONE_PAYMENT,
    "subscriptions": _TO_ONE_PAYMENT,
    "tax_rates": "Send lines with tax_amount: the service computes no tax.",
    "test_helpers": "Move the sandbox's clock by manage.py clock: it counts for the whole sandbox.",
    "tokens": _TO_CARD,
    "transfers": _TO_MERCHANT,
}
