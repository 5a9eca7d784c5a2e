"""Stripe's official SDK for Python reads our refusals, headers and webhooks as its own."""

from types import SimpleNamespace
from typing import Any

import pytest
import requests
import stripe

from tests.clients.test_mistakes import MISTAKES
from tests.stage.draining import until
from tests.stage.factories import payment
from tests.stage.sdk_service import VECTORS, SdkService
from tests.stage.stripe_calls import client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("stripe_calls_us"),
]


# --- Errors -----------------------------------------------------------------------------------


def test_a_wrong_parameter_is_an_invalid_request() -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.PaymentIntent.create(amount=0, currency="try")

    error = refused.value
    assert (error.http_status, error.code, error.param) == (400, "amount_too_small", "amount")
    assert error.request_id == error.json_body["error"]["request_id"]
    assert error.error.doc_url.endswith("/errors#amount_too_small")


def test_a_wrong_parameter_inside_is_named_as_it_was_sent() -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.PaymentIntent.create(**payment(payment_method_data={"type": "card", "card": {}}))
    with pytest.raises(stripe.InvalidRequestError) as refused_inside:
        stripe.PaymentIntent.create(
            amount=1, currency="try", line_items=[{"name": "a", "unit_amount": "x"}]
        )

    assert refused.value.param == "payment_method_data[card]"
    assert refused_inside.value.param == "line_items[0][unit_amount]"


def test_an_exception_alone_says_what_to_do(sdk_service: SdkService) -> None:
    printed = {}
    for one in (told := [one for one in MISTAKES if one.get("sdk")]):
        method, path = one["call"].split(" ")
        with pytest.raises(stripe.InvalidRequestError) as refused:
            client(sdk_service).raw_request(method.lower(), path, **(one["body"] or {}))
        print(refused.value)  # noqa: T201
        printed[one["what"]] = str(refused.value).partition(": ")[2]

    assert printed == {one["what"]: one["message"] for one in told}
    assert len(told) >= 20


def test_what_does_not_exist_is_an_invalid_request() -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.PaymentIntent.retrieve("pi_nobody")

    assert (refused.value.http_status, refused.value.code) == (404, "resource_missing")


def test_a_wrong_key_is_an_authentication_error() -> None:
    with pytest.raises(stripe.AuthenticationError) as refused:
        stripe.PaymentIntent.retrieve("pi_nobody", api_key="sk_sandbox_nobody")

    assert (refused.value.http_status, refused.value.error.code) == (401, "api_key_invalid")


def test_a_key_that_may_only_read_is_a_permission_error(sdk_service: SdkService) -> None:
    with pytest.raises(stripe.PermissionError) as refused:
        stripe.Customer.create(name="Ada", api_key=sdk_service.read_only_key)

    assert (refused.value.http_status, refused.value.error.code) == (403, "permission_denied")


def test_too_many_requests_are_a_rate_limit_error(sdk_service: SdkService) -> None:
    hasty = client(
        sdk_service, base_addresses={"api": sdk_service.strict_url}, max_network_retries=0
    )

    with pytest.raises(stripe.RateLimitError) as refused:
        [hasty.v1.events.list() for _attempt in range(10)]

    assert (refused.value.http_status, refused.value.error.code) == (429, "rate_limit")


def test_a_service_that_is_not_there_is_a_connection_error(sdk_service: SdkService) -> None:
    nowhere = client(
        sdk_service, base_addresses={"api": "http://127.0.0.1:1"}, max_network_retries=0
    )

    with pytest.raises(stripe.APIConnectionError):
        nowhere.v1.events.list()


def test_what_only_stripe_has_is_an_invalid_request() -> None:
    with pytest.raises(stripe.InvalidRequestError) as unknown_address:
        stripe.Charge.list()
    with pytest.raises(stripe.InvalidRequestError) as unknown_method:
        stripe.PaymentIntent.search(query="amount>1")
    with pytest.raises(stripe.InvalidRequestError) as unknown_parameter:
        stripe.PaymentIntent.create(amount=1, currency="try", off_session=True)

    assert unknown_address.value.code == "url_not_found"
    assert unknown_method.value.param == "query"
    assert unknown_parameter.value.code == "parameter_unknown"
    assert unknown_parameter.value.param == "off_session"


def test_an_errors_doc_url_opens(sdk_service: SdkService) -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.PaymentIntent.retrieve("pi_nobody")

    place, _, anchor = refused.value.error.doc_url.rpartition("/docs")[2].partition("#")
    page = requests.get(f"{sdk_service.url}/docs{place}", timeout=10)
    assert page.status_code == 200
    assert f'id="{anchor}"' in page.text


def test_a_state_that_refuses_shows_the_payment() -> None:
    paid = stripe.PaymentIntent.create(**payment())

    with pytest.raises(stripe.InvalidRequestError) as refused:
        paid.cancel()

    error = refused.value.error
    assert error.code == "payment_intent_unexpected_state"
    assert (error.payment_intent.id, error.payment_intent.status) == (paid.id, "succeeded")


# --- Idempotency, headers ---------------------------------------------------------------------


def test_an_idempotency_key_makes_one_payment() -> None:
    first = stripe.PaymentIntent.create(**payment(), idempotency_key="order 6735")

    again = stripe.PaymentIntent.create(**payment(), idempotency_key="order 6735")

    assert again.to_dict() == first.to_dict()
    assert again.last_response.headers["Idempotent-Replayed"] == "true"
    assert again.last_response.headers["Original-Request"] == first.last_response.request_id


def test_an_idempotency_key_of_another_request_is_an_idempotency_error() -> None:
    stripe.Customer.create(name="Ada", idempotency_key="order 6736")

    with pytest.raises(stripe.IdempotencyError) as refused:
        stripe.Customer.create(name="Grace", idempotency_key="order 6736")

    assert refused.value.error.code == "idempotency_key_reused"


def test_every_answer_has_its_request_id() -> None:
    answer = stripe.Customer.create(name="Ada").last_response
    page = stripe.Customer.list(limit=1).last_response

    assert answer.request_id.startswith("req_")
    assert page.request_id.startswith("req_")
    assert answer.headers["PF-Version"] == "2026-11-01"


def test_a_request_is_found_in_the_log_by_its_id(sdk_service: SdkService) -> None:
    request_id = stripe.Customer.create(name="Ada").last_response.request_id

    found = client(sdk_service).raw_request("get", f"/v1/request_logs/{request_id}")

    assert (found.data["path"], found.data["status"]) == ("/v1/customers", 200)


def test_all_headers_of_the_sdk_are_taken(sdk_service: SdkService) -> None:
    talkative = client(sdk_service, stripe_version="2024-06-20", stripe_account="acct_1")

    for _twice in range(2):  # From the second request on it reports how long the first took.
        made = talkative.v1.customers.create(params={"name": "Ada"})

    assert made.last_response.code == 200


# --- Webhooks ---------------------------------------------------------------------------------

# Our own receivers refuse these: the SDK judges a signature's age, but takes one from the future,
# and of two times it takes the last.
TAKEN_BY_THE_SDK = {"301 seconds ahead", "two t"}


def verifies(header: str) -> bool:
    try:
        stripe.Webhook.construct_event(VECTORS["body"], header, VECTORS["secret"])
    except stripe.SignatureVerificationError:
        return False
    return True


def test_the_sdk_takes_a_webhook_that_was_delivered(sdk_service: SdkService) -> None:
    endpoint = stripe.WebhookEndpoint.create(
        url=sdk_service.hooks.url, enabled_events=["customer.created"]
    )
    customer = stripe.Customer.create(name="Ayşe Yılmaz")

    def sent() -> list[Any]:
        # At least once, and perhaps among deliveries to the endpoints of other tests.
        return [it for it in sdk_service.hooks.requests if customer.id.encode() in it.body]

    until(sent)
    delivery = sent()[0]
    signature = delivery.headers["pf-signature"]

    event = stripe.Webhook.construct_event(delivery.body, signature, endpoint.secret)

    assert (event.type, event.data.object.name) == ("customer.created", "Ayşe Yılmaz")
    assert event.to_dict() == stripe.Event.retrieve(event.id).to_dict()
    assert event.data.object.id == customer.id
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(delivery.body + b" ", signature, endpoint.secret)
    stripe.WebhookEndpoint.delete(endpoint.id)


def test_the_sdk_verifies_our_signatures(monkeypatch: pytest.MonkeyPatch) -> None:
    now = SimpleNamespace(time=lambda: VECTORS["now"])
    monkeypatch.setattr("stripe._webhook.time", now)

    others = {v["what"] for v in VECTORS["headers"] if verifies(v["header"]) != v["is_genuine"]}

    assert others == TAKEN_BY_THE_SDK
