"""Refusals of the API: those that any operation answers with, and those of single operations."""

from datetime import timedelta
from typing import Any
from unittest.mock import patch

from django.utils import timezone

from core import clock, errors
from ledger import balance
from merchants import keys
from merchants.models import ApiKey, Merchant
from testbank.behaviours import DISPUTED_AFTER, TAKES_EVIDENCE_FOR
from tests.stage.bank_disputes import DISPUTED
from tests.stage.checkouts import SESSIONS
from tests.stage.client import REFUNDS
from tests.stage.examples.storyteller import Storyteller, Told
from tests.stage.factories import (
    confirmation,
    line,
    payment,
    payment_method,
    three_d_secure,
    unconfirmed,
)
from tests.stage.notifier import take_in
from tests.stage.topups import TOPUPS
from tests.stage.transfers import PAYOUTS

PAYMENTS, ENDPOINTS, CUSTOMERS = "/v1/payment_intents", "/v1/webhook_endpoints", "/v1/customers"
UNLISTED = "4000000000000010"
INSTALLMENTS = {"number": "5528790000000008", "installments": 2}
NOT_RELEASED = "4000001100000074"
TRY = {"currency": "try"}
TOO_LARGE = 10**12
MANUAL = {"capture_method": "manual"}


# --- What is typical ----------------------------------------------------------------------------


def tell_typical(story: Storyteller) -> int:
    """Make the typical mistakes with each operation of the story; return how many operations."""
    calls = list(story.calls.values())
    for call in calls:
        _an_unknown_parameter(story, call)
        if "{" in call.path:
            _an_unknown_id(story, call)
        if call.answer.body.get("object") == "list":
            _a_wrong_page(story, call)
    return len(calls)


def _an_unknown_parameter(story: Storyteller, call: Told) -> None:
    bare = call.address.partition("?")[0]
    given = call.operation["parameters"]
    is_needed = any(one.get("required") and one["in"] == "query" for one in given)
    if call.method == "POST":
        if call.operation["requestBody"]["required"]:
            story.refused("parameter_missing", "POST", bare, {})
        name = max(call.body or {"description": ""}, key=len)
        story.refused("parameter_unknown", "POST", bare, {name[:-2] + name[-1]: "x"})
    elif is_needed:
        story.refused("parameter_missing", call.method, bare)
    else:
        story.refused("parameter_invalid", call.method, f"{bare}?fields=id")


def _an_unknown_id(story: Storyteller, call: Told) -> None:
    parts = zip(call.path.split("/"), call.address.partition("?")[0].split("/"), strict=True)
    unknown = [f"{one.partition('_')[0]}_unknown" if "{" in name else one for name, one in parts]
    story.refused("resource_missing", call.method, "/".join(unknown))


def _a_wrong_page(story: Storyteller, call: Told) -> None:
    path, _mark, query = call.address.partition("?")
    first = f"{path}?{query}&" if "q=" in query else f"{path}?"
    prefix = call.answer["data"][0]["id"].partition("_")[0]
    story.refused("parameter_invalid", "GET", f"{first}limit=500")
    story.refused("resource_missing", "GET", f"{first}starting_after={prefix}_unknown")
    both = f"starting_after={prefix}_a&ending_before={prefix}_b"
    story.refused("parameters_exclusive", "GET", first + both)


# --- What each has of its own -------------------------------------------------------------------


def tell_own(story: Storyteller) -> None:
    """Be refused with the codes of single operations."""
    about_bodies(story)
    about_cards(story)
    about_terms(story)
    about_statuses(story)
    about_captures(story)
    about_sessions(story)
    about_refunds(story)
    about_transfers(story)
    about_endpoints(story)
    about_disputes(story)


def refused_each(story: Storyteller, address: str, bodies: dict[str, dict[str, Any]]) -> None:
    for code, body in bodies.items():
        story.refused(code, "POST", address, body)


def about_bodies(story: Storyteller) -> None:
    body = {"amount": 12500, **TRY}
    story.refused("body_invalid", "POST", PAYMENTS, b'{"amount": 12500 "currency": "try"}')
    story.refused("api_version_invalid", "POST", PAYMENTS, body, pf_version="2020-01-01")
    told = {**body, "description": "4242 4242 4242 4242"}
    story.refused("card_data_not_allowed", "POST", PAYMENTS, told)
    story.refused("card_data_in_url", "GET", f"{PAYMENTS}?q=4242424242424242")
    story.refused("idempotency_key_invalid", "POST", PAYMENTS, body, idempotency_key="k" * 256)
    story.client.post(PAYMENTS, body, idempotency_key="order-7")
    other = {**body, "amount": 9900}
    story.refused("idempotency_key_reused", "POST", PAYMENTS, other, idempotency_key="order-7")


def _wrong_cards() -> dict[str, dict[str, Any]]:
    return {
        "incorrect_number": payment_method("4242424242424241"),
        "card_not_supported": payment_method(UNLISTED),
        "invalid_expiry_month": payment_method(exp_month=13),
        "invalid_expiry_year": payment_method(exp_year=40),
        "expired_card": payment_method(exp_year=2020),
        "invalid_cvc": payment_method(cvc="12"),
    }


def about_cards(story: Storyteller) -> None:
    waits = story.client.post(PAYMENTS, {"amount": 12500, **TRY})["id"]
    for code, method in _wrong_cards().items():
        given = {"payment_method_data": method}
        story.refused(code, "POST", PAYMENTS, payment(**given))
        story.refused(code, "POST", f"{PAYMENTS}/{waits}/confirm", given)


def about_terms(story: Storyteller) -> None:
    elsewhere = "https://globex.example/return"
    terms: dict[str, dict[str, Any]] = {
        "installments_not_available": {"installments": 2},
        "surcharge_mismatch": {"surcharge": 1},
        "return_url_not_allowed": {"return_url": elsewhere},
        "amount_too_small": {"surcharge": -1},
        "amount_too_large": {"surcharge": TOO_LARGE},
        "non_secure_not_allowed": three_d_secure("none"),
    }
    waits = story.client.post(PAYMENTS, {"amount": 600_000, **TRY})["id"]
    confirms = {code: confirmation(**changes) for code, changes in terms.items()}
    refused_each(story, f"{PAYMENTS}/{waits}/confirm", confirms)
    amounts = {"amount_too_small": {"amount": 0}, "amount_too_large": {"amount": TOO_LARGE}}
    changes = {
        **terms, **amounts,
        "non_secure_not_allowed": {"amount": 600_000, **three_d_secure("none")},
        "currency_not_supported": {"currency": "jpy"},
        "line_items_amount_mismatch": {"line_items": [line(12400)]},
        "resource_missing": {"customer": "cus_unknown"},
    }  # fmt: skip
    refused_each(story, PAYMENTS, {code: payment(**change) for code, change in changes.items()})
    given = story.client.post(PAYMENTS, unconfirmed())["id"]
    of_update = ("amount_too_small", "amount_too_large", "currency_not_supported",
                 "installments_not_available", "line_items_amount_mismatch")  # fmt: skip
    refused_each(story, f"{PAYMENTS}/{given}", {code: changes[code] for code in of_update})
    quote = "/v1/installments?bin=552879&amount={}&currency={}"
    story.refused("amount_too_small", "GET", quote.format(0, "try"))
    story.refused("amount_too_large", "GET", quote.format(TOO_LARGE, "try"))
    story.refused("currency_not_supported", "GET", quote.format(10000, "jpy"))
    story.refused("currency_not_supported", "POST", CUSTOMERS, {"default_currency": "jpy"})
    customer = story.client.post(CUSTOMERS)["id"]
    changed = f"{CUSTOMERS}/{customer}"
    story.refused("currency_not_supported", "POST", changed, {"default_currency": "jpy"})


def about_statuses(story: Storyteller) -> None:
    paid = f"{PAYMENTS}/{story.client.pay()['id']}"
    code = "payment_intent_unexpected_state"
    story.refused(code, "POST", paid, {"amount": 100})
    story.refused(code, "POST", f"{paid}/confirm", confirmation())
    story.refused(code, "POST", f"{paid}/capture")
    story.refused(code, "POST", f"{paid}/cancel")
    held = story.client.pay(NOT_RELEASED, **MANUAL)["id"]
    story.refused("cancel_failed", "POST", f"{PAYMENTS}/{held}/cancel")


def about_captures(story: Storyteller) -> None:
    held = f"{PAYMENTS}/{story.client.pay(**MANUAL)['id']}/capture"
    story.refused("amount_too_small", "POST", held, {"amount_to_capture": 0})
    story.refused("amount_too_large", "POST", held, {"amount_to_capture": 12600})
    parts = story.client.pay(**INSTALLMENTS, **MANUAL)["id"]
    part = {"amount_to_capture": 5000}
    story.refused("partial_capture_not_allowed", "POST", f"{PAYMENTS}/{parts}/capture", part)


def about_sessions(story: Storyteller) -> None:
    paid = story.client.pay()["id"]
    waits = story.client.post(PAYMENTS, {"amount": 12500, **TRY})["id"]
    opened = story.client.post(SESSIONS, {"payment_intent": waits})["id"]
    elsewhere = "https://globex.example/thanks"
    refused_each(story, SESSIONS, {
        "amount_too_small": {"amount": 0, **TRY},
        "amount_too_large": {"amount": TOO_LARGE, **TRY},
        "currency_not_supported": {"amount": 12500, "currency": "jpy"},
        "parameters_exclusive": {"amount": 12500, **TRY, "payment_intent": waits},
        "return_url_not_allowed": {"amount": 12500, **TRY, "success_url": elsewhere},
        "payment_intent_unexpected_state": {"payment_intent": paid},
        "checkout_session_unexpected_state": {"payment_intent": waits},
        "resource_missing": {"payment_intent": "pi_unknown"},
    })  # fmt: skip
    story.client.post(f"{SESSIONS}/{opened}/expire")
    story.refused("checkout_session_unexpected_state", "POST", f"{SESSIONS}/{opened}/expire")


def about_refunds(story: Storyteller) -> None:
    waits = story.client.post(PAYMENTS, {"amount": 12500, **TRY})["id"]
    paid = story.client.pay()["id"]
    refused_each(story, REFUNDS, {
        "amount_too_small": {"payment_intent": paid, "amount": 0},
        "amount_too_large": {"payment_intent": paid, "amount": 12600},
        "payment_intent_unexpected_state": {"payment_intent": waits},
        "resource_missing": {"payment_intent": "pi_unknown"},
    })  # fmt: skip
    refund = story.client.refund(paid)["id"]
    story.refused("payment_already_refunded", "POST", REFUNDS, {"payment_intent": paid})
    story.refused("refund_unexpected_state", "POST", f"{REFUNDS}/{refund}/cancel")


def about_transfers(story: Storyteller) -> None:
    for path, noun in ((PAYOUTS, "payout"), (TOPUPS, "topup")):
        refused_each(story, path, {
            "amount_too_small": {"amount": 0, **TRY},
            "amount_too_large": {"amount": TOO_LARGE, **TRY},
            "currency_not_supported": {"amount": 5000, "currency": "jpy"},
        })  # fmt: skip
        made = story.client.post(path, {"amount": 500, **TRY})["id"]
        story.client.post(f"{path}/{made}/cancel")
        story.refused(f"{noun}_unexpected_state", "POST", f"{path}/{made}/cancel")
    much = {"amount": 99_000_000, **TRY}
    story.refused("balance_insufficient", "POST", PAYOUTS, much)
    other = {"amount": 500, **TRY, "destination": "other"}
    story.refused("resource_missing", "POST", PAYOUTS, other)


def about_endpoints(story: Storyteller) -> None:
    wanted: dict[str, Any] = {
        "url": "https://acme.example/other",
        "enabled_events": ["customer.created"],
    }
    made = story.client.post(ENDPOINTS, wanted)["id"]
    story.client.post(f"{ENDPOINTS}/{made}", {"disabled": True})
    code, endpoint = "webhook_endpoint_unexpected_state", f"{ENDPOINTS}/{made}"
    story.refused(code, "POST", endpoint, {"replay_missed": True})
    story.refused(code, "POST", f"{endpoint}/replay")
    event = story.client.get("/v1/events?type=customer.created&limit=1")["data"][0]["id"]
    story.refused(code, "POST", f"/v1/events/{event}/resend", {"webhook_endpoint": made})
    elsewhere = {**wanted, "url": "https://globex.example/webhooks"}
    story.refused("webhook_url_not_allowed", "POST", ENDPOINTS, elsewhere)
    story.refused("webhook_url_not_allowed", "POST", endpoint, {"url": elsewhere["url"]})
    while story.client.post(ENDPOINTS, wanted).status == 200:
        pass
    story.refused("endpoint_limit_reached", "POST", ENDPOINTS, wanted)


def about_disputes(story: Storyteller) -> None:
    for _each in range(2):
        disputed = story.client.pay(DISPUTED)["id"]
    clock.advance(DISPUTED_AFTER)
    take_in()
    story.refused("payment_disputed", "POST", REFUNDS, {"payment_intent": disputed})
    rows = story.client.get("/v1/disputes?status=needs_response")["data"]
    accepted, late = (f"/v1/disputes/{row['id']}" for row in rows[:2])
    story.client.post(f"{accepted}/close")
    evidence = {"evidence": {"customer_name": "Ayşe Yılmaz"}}
    story.refused("dispute_unexpected_state", "POST", accepted, evidence)
    story.refused("dispute_unexpected_state", "POST", f"{accepted}/close")
    held = story.client.pay(**MANUAL)["id"]
    clock.advance(TAKES_EVIDENCE_FOR + timedelta(minutes=1))
    story.refused("evidence_past_due", "POST", late, evidence)
    story.refused("capture_expired", "POST", f"{PAYMENTS}/{held}/capture")


# --- What each may refuse with ------------------------------------------------------------------


def tell_of_any(story: Storyteller, settings: Any) -> None:
    """Be refused as any request may be; afterwards the account takes no more payments."""
    client = story.client
    _about_the_service(story)
    story.refused_anywhere(client.post(CUSTOMERS, b"<name/>", content_type="text/xml"))
    too_large = b'{"name": "%s"}' % (b"x" * settings.BODY_MAX_BYTES)
    story.refused_anywhere(client.post(CUSTOMERS, too_large))
    _about_a_restricted_account(story)
    reader = client.with_scopes(customers="read")
    story.refused_anywhere(reader.post(CUSTOMERS, {"name": "Ayşe Yılmaz"}))
    settings.RATE_LIMIT_PER_SECOND = 1
    client.get("/v1/balance")
    story.refused_anywhere(client.get("/v1/balance"))
    settings.RATE_LIMIT_PER_SECOND = 0
    _about_keys(story)


def _about_keys(story: Storyteller) -> None:
    client = story.client
    story.refused_anywhere(client.get("/v1/balance", authorization=""))
    story.refused_anywhere(client.get("/v1/balance", authorization="Bearer sk_sandbox_mistyped"))
    key, secret = keys.create(client.merchant, name="old")
    old = client.twin(secret)
    ApiKey.objects.filter(id=key.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    story.refused_anywhere(old.get("/v1/balance"))
    keys.revoke(key)
    story.refused_anywhere(old.get("/v1/balance"))


def _about_the_service(story: Storyteller) -> None:
    """Meet it while it is busy, or broken: the cause is put in its way."""
    busy = (errors.LockTimeout(), errors.UpstreamUnavailable(), errors.Overloaded())
    for raised in (*busy, ZeroDivisionError()):
        with patch.object(balance, "shown", side_effect=raised):
            story.refused_anywhere(story.client.get("/v1/balance"))


def _about_a_restricted_account(story: Storyteller) -> None:
    client = story.client
    waits = client.post(PAYMENTS, {"amount": 12500, **TRY})["id"]
    # Only a closed one neither captures nor tops up.
    Merchant.objects.filter(id=client.merchant.id).update(status="restricted")
    for path, body in (
        (PAYMENTS, payment()), (f"{PAYMENTS}/{waits}/confirm", confirmation()),
        (SESSIONS, {"amount": 12500, **TRY}), (PAYOUTS, {"amount": 500, **TRY}),
    ):  # fmt: skip
        story.refused("merchant_restricted", "POST", path, body)
