"""The API's frame: whatever a client sends, it gets our envelope, and no value of its own back."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import OperationalError, connections
from django.test import Client

from ledger import balance
from merchants.models import IdempotencyKey
from payments.models import Customer, PaymentIntent
from tests.client import Answer, ApiClient
from tests.factories import GOOD_CARD, payment, payment_method
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

ENVELOPE = {"type", "code", "message", "param", "doc_url", "request_id"}
CARD = GOOD_CARD
CANARY = "canary-Zq81"
NUMBER = "payment_method_data[card][number]"
ZIP = {"address": {"zip": "34000"}}


def assert_envelope(answer: Answer) -> None:
    """Every error of every layer looks like this (contract 4)."""
    assert answer.body.keys() == {"error"}
    assert answer.error.keys() >= ENVELOPE
    assert answer.error["request_id"] == answer.headers["Request-Id"]
    assert answer.error["request_id"].startswith("req_")
    assert answer.error["doc_url"] == f"{settings.DOCS_URL}/errors#{answer.error['code']}"
    assert answer.headers["Content-Type"] == "application/json"
    is_ours = answer.status >= 500
    assert (answer.error["type"] == "api_error") == is_ours


def assert_nothing_stored() -> None:
    for rows in (PaymentIntent, Customer, SealedCard, IdempotencyKey):
        assert not rows.objects.exists()


def raw(method: str, path: str, body: bytes = b"", **options: Any) -> Answer:
    """Send a request without a key, as anybody may."""
    http = Client(raise_request_exception=False)
    return Answer(http.generic(method, path, body, **options))


# --- Addresses and methods ------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/", "/nothing", "/v1", "/v1/", "/v1/nothing", "/v1/balance/"])
def test_an_unknown_address_is_404_for_everybody(method: str, path: str) -> None:
    answer = raw(method, path)

    assert answer.refusal == (404, "url_not_found", None)
    assert_envelope(answer)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/v1/balance/", "/v1/payment_intents/", "/v1/payment_intents/x/"])
@pytest.mark.parametrize("redirects", [True, False])
def test_a_trailing_slash_is_never_a_redirect(
    acme: ApiClient, settings: Any, method: str, path: str, redirects: bool
) -> None:
    settings.SECURE_SSL_REDIRECT = redirects

    answer = acme._call(method, path, b"{}", {})

    assert answer.refusal == (404, "url_not_found", None)


def test_plain_http_to_an_https_installation_is_answered_and_not_redirected(
    acme: ApiClient, settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT = True

    assert acme.get("/v1/balance").status == 200
    assert acme.post("/v1/customers", {}).status == 200
    assert raw("GET", "/v1").status == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/balance", "GET, HEAD"),
        ("POST", "/v1/balance", "GET, HEAD"),
        ("OPTIONS", "/v1/balance", "GET, HEAD"),
        ("PATCH", "/v1/payment_intents/pi_x", "GET, POST, HEAD"),
        ("GET", "/v1/payment_intents/pi_x/confirm", "POST"),
        ("BREW", "/v1/customers", "POST"),
    ],
)
def test_a_wrong_method_is_405_and_names_the_right_ones(
    acme: ApiClient, method: str, path: str, allowed: str
) -> None:
    answer = acme._call(method, path, b"", {})

    assert answer.refusal == (405, "method_not_allowed", None)
    assert set(answer.headers["Allow"].split(", ")) == set(allowed.split(", "))
    assert_envelope(answer)


def test_the_health_check_takes_no_orders() -> None:
    answer = raw("POST", "/healthz")

    assert answer.refusal == (405, "method_not_allowed", None)
    assert answer.headers["Allow"] == "GET, HEAD"
    assert_envelope(answer)


@pytest.mark.parametrize("host", ["evil.example", "a b", "127.0.0.1:x", "acme.example@127.0.0.1"])
@pytest.mark.parametrize("path", ["/v1/balance", "/nothing", "/admin/", "/healthz"])
def test_a_host_that_is_not_ours_is_refused(host: str, path: str) -> None:
    answer = raw("GET", path, headers={"host": host})

    assert answer.refusal == (400, "parameter_invalid", "Host")
    assert_envelope(answer)


def test_a_form_of_the_pages_without_its_token_is_refused_in_the_envelope() -> None:
    http = Client(enforce_csrf_checks=True)

    answer = Answer(http.post("/admin/login/", {"username": "x"}))

    assert answer.refusal == (403, "permission_denied", None)
    assert_envelope(answer)


# --- Our own faults -------------------------------------------------------------------------


def test_a_crash_is_a_500_that_tells_nothing(acme: ApiClient, monkeypatch: Any) -> None:
    def crash(_merchant: object) -> None:
        raise RuntimeError(f"secret of the house {CARD}")

    monkeypatch.setattr(balance, "shown", crash)

    answer = acme.get("/v1/balance")

    assert answer.refusal == (500, "internal_error", None)
    assert "secret" not in str(answer.body)
    assert_envelope(answer)


def test_a_crash_outside_the_api_is_the_same_500_and_is_logged(
    monkeypatch: Any, caplog: Any
) -> None:
    def crash(*_args: object) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr("config.urls.connection.cursor", crash, raising=False)

    answer = raw("GET", "/healthz")

    assert answer.refusal == (500, "internal_error", None)
    assert "secret" not in str(answer.body)
    assert "secret of the house" in caplog.text
    assert_envelope(answer)


@pytest.fixture
def no_database(monkeypatch: Any) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise OperationalError("connection refused at 10.0.0.7")

    monkeypatch.setattr(connections["default"], "cursor", refuse)


@pytest.mark.parametrize("path", ["/v1/balance", "/healthz", "/admin/"])
def test_without_a_database_the_answer_is_503(
    acme: ApiClient, no_database: None, path: str
) -> None:
    answer = acme._call("GET", path, b"", {"cookie": f"sessionid={'a' * 32}"})

    assert answer.refusal == (503, "upstream_unavailable", None)
    assert "10.0.0.7" not in str(answer.body)
    assert_envelope(answer)


# --- The body's outside ---------------------------------------------------------------------


def padded(size: int) -> bytes:
    body = b'{"description": ""}'
    return body + b" " * (size - len(body))


def test_a_body_of_the_limit_is_read_and_one_byte_more_is_413(acme: ApiClient) -> None:
    limit = settings.BODY_MAX_BYTES

    fits = acme.post("/v1/customers", padded(limit))
    answer = acme.post("/v1/customers", padded(limit + 1))

    assert fits.status == 200
    assert answer.refusal == (413, "body_too_large", None)
    assert_envelope(answer)


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": ""},
        {"content_type": "multipart/form-data; boundary=x"},
        {"content_type": "application/jsonp"},
        {"content_type": "application/json; charset=utf-16"},
        {"content_type": 'application/json; charset="iso-8859-9"'},
        {"content_encoding": "gzip"},
        {"content_encoding": "identity, gzip"},
    ],
)
def test_a_body_in_another_type_or_encoding_is_415(
    acme: ApiClient, headers: dict[str, str]
) -> None:
    answer = acme.post("/v1/customers", b'{"email": "ada@example.com"}', **headers)

    assert answer.refusal == (415, "unsupported_media_type", None)
    assert_envelope(answer)
    assert_nothing_stored()


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "APPLICATION/JSON", "application/json; charset=UTF-8",
     'application/json;charset="utf-8"'],
)  # fmt: skip
def test_json_may_be_written_in_several_ways(acme: ApiClient, content_type: str) -> None:
    assert acme.post("/v1/customers", b"{}", content_type=content_type).status == 200


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json", "image/png; a=b"])
def test_an_empty_body_is_an_empty_object_whatever_its_type(
    acme: ApiClient, content_type: str
) -> None:
    created = acme.post("/v1/customers", b"", content_type=content_type)
    incomplete = acme.post("/v1/payment_intents", b"", content_type=content_type)

    assert created.status == 200
    assert incomplete.refusal == (400, "parameter_missing", "amount")


# --- Strict JSON ----------------------------------------------------------------------------

NOT_OUR_JSON = {
    "cut": b'{"name": ',
    "nothing but space": b"  ",
    "two values": b"{} {}",
    "single quotes": b"{'a': 1}",
    "trailing comma": b'{"name": "a",}',
    "a comment": b'{} // {"a": 1}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "invalid UTF-8": b'{"name": "\xff"}',
    "UTF-16": '{"name": "a"}'.encode("utf-16"),
    "array": b"[]",
    "string": b'"a"',
    "number": b"1",
    "null": b"null",
    "duplicate key": b'{"name": "a", "name": "b"}',
    "nested duplicate key": b'{"metadata": {"a": "1", "a": "2"}}',
    "escaped duplicate key": b'{"name": "a", "\\u006eame": "b"}',
    "NaN": b'{"name": NaN}',
    "Infinity": b'{"name": Infinity}',
    "-Infinity": b'{"metadata": {"a": -Infinity}}',
    "5,000 digits": b'{"name": ' + b"9" * 5000 + b"}",
    "5,000 decimals": b'{"name": 0.' + b"9" * 5000 + b"}",
    "2,000 lists": b'{"name": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    "500 lists": b'{"name": ' + b"[" * 500 + b"]" * 500 + b"}",
    "2,000 objects": b'{"a": ' * 2000 + b"1" + b"}" * 2000,
    "100,000 lists": b"[" * 100_000,
    "control character": b'{"name": "a\x01b"}',
}


@pytest.mark.parametrize("name", NOT_OUR_JSON)
def test_what_is_not_one_json_object_is_refused(acme: ApiClient, name: str) -> None:
    answer = acme.post("/v1/customers", NOT_OUR_JSON[name], idempotency_key="k")

    assert answer.refusal == (400, "body_invalid", None)
    assert_envelope(answer)
    assert_nothing_stored()


@pytest.mark.parametrize("text", ["\\u0000", "a\\u0000b", "\\ud800", "\\udc00\\ud800"])
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ('{"name": "%s"}', "name"),
        ('{"metadata": {"a": "%s"}}', "metadata[a]"),
        ('{"metadata": {"a": ["x", "%s"]}}', "metadata[a][1]"),
        ('{"payment_method_data": {"card": {"number": "%s"}}}', NUMBER),
    ],
)  # fmt: skip
def test_text_that_is_no_text_is_refused(acme: ApiClient, body: str, param: str, text: str) -> None:
    answer = acme.post("/v1/customers", (body % text).encode())

    assert answer.refusal == (400, "body_invalid", param)
    assert_nothing_stored()


@pytest.mark.parametrize("deep", [b"[" * 300 + b"]" * 300, b"[" * 900 + b"]" * 900])
def test_a_card_number_that_is_a_deep_list_is_a_refusal(acme: ApiClient, deep: bytes) -> None:
    body = json.dumps(payment()).encode().replace(f'"{CARD}"'.encode(), deep)

    answer = acme.post("/v1/payment_intents", body, idempotency_key="k")

    assert answer.status == 400
    assert_nothing_stored()


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"capture_metod": "manual"}, "capture_metod"),
        ({"Amount": 1}, "Amount"),
        ({"payment_method_data": {**payment_method(), "tpye": 1}}, "payment_method_data[tpye]"),
        ({"payment_method_data": payment_method(cvv="1")}, "payment_method_data[card][cvv]"),
        (
            {"payment_method_options": {"card": {"secure": "x"}}},
            "payment_method_options[card][secure]",
        ),
        (
            {"payment_method_data": {**payment_method(), "billing_details": ZIP}},
            "payment_method_data[billing_details][address][zip]",
        ),
        ({"line_items": [{"name": "a", "unit_amount": 1, "qty": 2}]}, "line_items[0][qty]"),
        ({"": 1}, ""),
        ({"non_field_errors": 1}, "non_field_errors"),
    ],
)  # fmt: skip
def test_an_unknown_parameter_is_refused_with_its_whole_path(
    acme: ApiClient, change: dict[str, Any], param: str
) -> None:
    answer = acme.post("/v1/payment_intents", payment(**change))

    assert answer.refusal == (400, "parameter_unknown", param)
    assert_nothing_stored()


# --- Values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ('"12500"', "parameter_invalid"),
        ("12500.0", "parameter_invalid"),
        ("1e4", "parameter_invalid"),
        ("1E400", "parameter_invalid"),
        ("true", "parameter_invalid"),
        ("[1]", "parameter_invalid"),
        ("{}", "parameter_invalid"),
        ('""', "parameter_invalid"),
        ("null", "parameter_missing"),
        ("-1", "amount_too_small"),
        ("-0", "amount_too_small"),
        ("0", "amount_too_small"),
        ("1000000000000", "amount_too_large"),
        (str(2**63), "amount_too_large"),
        (str(-(2**63) - 1), "amount_too_small"),
        ("1" + "0" * 99, "amount_too_large"),
    ],
)
def test_an_amount_is_a_json_integer_in_its_range(acme: ApiClient, literal: str, code: str) -> None:
    body = b'{"currency": "try", "amount": ' + literal.encode() + b"}"

    answer = acme.post("/v1/payment_intents", body)

    assert answer.refusal == (400, code, "amount")
    assert_nothing_stored()


@pytest.mark.parametrize("amount", [1, 999_999_999_999])
def test_the_ends_of_the_range_are_amounts(acme: ApiClient, amount: int) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": amount, "currency": "try"})

    assert answer["amount"] == amount


def test_null_equals_leaving_an_optional_parameter_out(acme: ApiClient) -> None:
    optional = dict.fromkeys(
        ("confirm", "customer", "description", "installments", "line_items", "metadata",
         "payment_method_data", "payment_method_options", "return_url", "surcharge")
    )  # fmt: skip

    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try", **optional})

    assert answer.status == 200
    assert (answer["metadata"], answer["description"]) == ({}, None)


def test_null_clears_on_an_update(acme: ApiClient) -> None:
    body = {"amount": 1, "currency": "try", "description": "d", "metadata": {"a": "b"}}
    path = f"/v1/payment_intents/{acme.post('/v1/payment_intents', body)['id']}"

    answer = acme.post(path, {"description": None, "metadata": None})

    assert (answer["metadata"], answer["description"]) == ({}, None)


@pytest.mark.parametrize(
    ("metadata", "param"),
    [
        ({str(n): "v" for n in range(51)}, "metadata"),
        ({"k" * 41: "v"}, f"metadata[{'k' * 41}]"),
        ({"": "v"}, "metadata[]"),
        ({"non_field_errors": 1}, "metadata[non_field_errors]"),
        ({"a[b": "v"}, "metadata[a[b]"),
        ({"a]": "v"}, "metadata[a]]"),
        ({"a": "v" * 501}, "metadata[a]"),
        ({"a": 1}, "metadata[a]"),
        ({"a": True}, "metadata[a]"),
        ({"a": ["v"]}, "metadata[a]"),
        ({"a": {"b": "v"}}, "metadata[a]"),
        ([], "metadata"),
        ("text", "metadata"),
        (1, "metadata"),
    ],
)
def test_metadata_that_breaks_a_rule_is_refused(acme: ApiClient, metadata: Any, param: str) -> None:
    answer = acme.post("/v1/customers", {"metadata": metadata})

    assert answer.refusal == (400, "parameter_invalid", param)
    assert_nothing_stored()


def test_metadata_up_to_its_limits_comes_back_as_it_was(acme: ApiClient) -> None:
    metadata = {f"{n:02}{'k' * 38}": "ş" * 500 for n in range(50)}

    assert acme.post("/v1/customers", {"metadata": metadata})["metadata"] == metadata


def test_an_empty_metadata_value_deletes_and_an_empty_map_clears(acme: ApiClient) -> None:
    created = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try",
                                               "metadata": {"a": "1", "b": "2"}})  # fmt: skip
    path = f"/v1/payment_intents/{created['id']}"

    assert acme.post(path, {"metadata": {"a": "", "c": "3"}})["metadata"] == {"b": "2", "c": "3"}
    assert acme.post(path, {"metadata": {}})["metadata"] == {}


@pytest.mark.parametrize("currency", ["try", "TRY", "Usd", "eUR", "gbp"])
def test_a_currency_is_taken_in_any_case_and_shown_in_lower(acme: ApiClient, currency: str) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": currency})

    assert answer["currency"] == currency.lower()


@pytest.mark.parametrize(
    ("currency", "code"),
    [
        ("jpy", "currency_not_supported"),
        ("try ", "currency_not_supported"),
        ("", "currency_not_supported"),
        ("ＴＲＹ", "currency_not_supported"),
        ("TR\u0130", "currency_not_supported"),
        (949, "parameter_invalid"),
        (["try"], "parameter_invalid"),
        (True, "parameter_invalid"),
        (None, "parameter_missing"),
    ],
)
def test_another_currency_is_refused(acme: ApiClient, currency: Any, code: str) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": currency})

    assert answer.refusal == (400, code, "currency")


@pytest.mark.parametrize(
    "body",
    [
        {"amount": CANARY, "currency": "try"},
        {"amount": 1, "currency": CANARY},
        {"amount": 1, "currency": "try", "capture_method": CANARY},
        {"amount": 1, "currency": "try", "confirm": CANARY},
        {"amount": 1, "currency": "try", "customer": CANARY},
        {"amount": 1, "currency": "try", "return_url": f"https://{CANARY}.example/"},
        {"amount": 1, "currency": "try", "line_items": CANARY},
        {"amount": 1, "currency": "try", "line_items": [CANARY]},
        {"amount": 1, "currency": "try", "metadata": CANARY},
        {"amount": 1, "currency": "try", "metadata": {"a": [CANARY]}},
        {"amount": 1, "currency": "try", "installments": CANARY},
        {"amount": 1, "currency": "try", "payment_method_options": CANARY},
        {"amount": 1, "currency": "try", "payment_method_options": {"card": CANARY}},
        {"amount": 1, "currency": "try", "expand": [CANARY]},
        {"amount": 1, "currency": "try", "expand": CANARY},
        {"amount": 1, "currency": "try", "payment_method_data": {"type": CANARY}},
        payment(CANARY),
        payment(payment_method_data=payment_method(cvc=CANARY)),
        payment(payment_method_data=payment_method(exp_month=CANARY)),
        payment(payment_method_data={**payment_method(), "billing_details": {"email": CANARY}}),
        payment(payment_method_data={"type": "card", "card": CANARY}),
        f'{{"amount": 1, "currency": {CANARY}'.encode(),
    ],
)  # fmt: skip
def test_no_refusal_repeats_a_value(acme: ApiClient, body: Any) -> None:
    answer = acme.post("/v1/payment_intents", body)

    assert answer.status in (400, 404)
    assert CANARY not in str(answer.body)
    assert_envelope(answer)


@pytest.mark.parametrize("expand", [0, False, "", {}, {"a": 1}, [1], [None], 1])
def test_expand_is_an_array_of_names(acme: ApiClient, expand: Any) -> None:
    answer = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try", "expand": expand})

    assert answer.refusal == (400, "parameter_invalid", "expand")
    assert_nothing_stored()


# --- Card numbers where none may be ---------------------------------------------------------

WRITTEN = {
    "plain": CARD,
    "spaces": "4242 4242 4242 4242",
    "dashes": "4242-4242-4242-4242",
    "in a sentence": f"card {CARD}, thanks",
    "full-width digits": "４２４２４２４２４２４２４２４２",
    "Arabic digits": "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢",
    "zero-width space": "42424242\u200b42424242",
    "percent-encoded": "%34242424242424242".replace("%34", "%2034"),
}
MASK = "424242******4242"


@pytest.mark.parametrize("how", [how for how in WRITTEN if how != "percent-encoded"])
@pytest.mark.parametrize(
    ("place", "param"),
    [
        (lambda pan: {"description": pan}, "description"),
        (lambda pan: {"metadata": {"order": pan}}, "metadata[order]"),
        (lambda pan: {"metadata": {"order": [pan]}}, "metadata[order][0]"),
        (lambda pan: {"return_url": f"https://acme.example/?a={pan}"}, "return_url"),
        (lambda pan: {"customer": pan}, "customer"),
        (lambda pan: {"unknown": {"a": [[pan]]}}, "unknown[a][0][0]"),
        (
            lambda pan: {"payment_method_data": payment_method(holder_name=pan)},
            "payment_method_data[card][holder_name]",
        ),
        (
            lambda pan: {"payment_method_data": payment_method(cvc=pan)},
            "payment_method_data[card][cvc]",
        ),
        (
            lambda pan: {"payment_method_data": {**payment_method(), "number": pan}},
            "payment_method_data[number]",
        ),
    ],
)
def test_a_card_number_outside_its_field_is_refused(
    acme: ApiClient, place: Any, param: str, how: str
) -> None:
    answer = acme.post("/v1/payment_intents", payment(**place(WRITTEN[how])), idempotency_key="k")

    assert answer.refusal == (400, "card_data_not_allowed", param)
    assert CARD not in answer.response.content.decode()
    assert_nothing_stored()


@pytest.mark.parametrize("literal", [CARD, f"{CARD}.0", "4.242424242424242e15", f"-{CARD}"])
@pytest.mark.parametrize("name", ["amount", "unknown"])
def test_a_card_number_as_a_number_is_refused(acme: ApiClient, literal: str, name: str) -> None:
    answer = acme.post("/v1/payment_intents", f'{{"{name}": {literal}}}'.encode())

    assert answer.refusal == (400, "card_data_not_allowed", name)
    assert CARD not in str(answer.body)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({CARD: "x"}, MASK),
        ({"metadata": {CARD: "x"}}, f"metadata[{MASK}]"),
        ({"metadata": {"4242 4242 4242 4242": "x"}}, "metadata[424242******4242]"),
        ({"metadata": {CARD: {"inner": "x"}}}, f"metadata[{MASK}]"),
        (
            {"payment_method_data": {"card": {CARD: "x"}}},
            f"payment_method_data[card][{MASK}]",
        ),
    ],
)
def test_a_name_that_is_a_card_number_is_masked(
    acme: ApiClient, body: dict[str, Any], param: str
) -> None:
    answer = acme.post("/v1/payment_intents", body)

    assert answer.refusal == (400, "card_data_not_allowed", param)
    assert_nothing_stored()


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize(
    "path", ["/v1/payment_intents/{}", "/v1/customers/{}?a=b", "/v1/{}", "/v1/balance?a={}",
             "/v1/balance?{}=a", "/v1/balance?expand[]={}", "/v1/balance?x=1&{}"],
)  # fmt: skip
def test_a_card_number_in_an_address_is_refused(acme: ApiClient, path: str, how: str) -> None:
    written = "%34" + CARD[1:] if how == "percent-encoded" else quote(WRITTEN[how])

    answer = acme.get(path.format(written))

    assert answer.refusal == (400, "card_data_in_url", None)
    assert CARD not in answer.response.content.decode()
    assert_envelope(answer)


def test_a_card_number_in_an_address_is_refused_before_the_key_is_looked_at() -> None:
    assert raw("GET", f"/v1/balance?q={CARD}").refusal == (400, "card_data_in_url", None)


@pytest.mark.parametrize("key", [CARD, "4242-4242-4242-4242", f"order {CARD}"])
def test_a_card_number_as_idempotency_key_is_refused(acme: ApiClient, key: str) -> None:
    answer = acme.post("/v1/payment_intents", payment(), idempotency_key=key)

    assert answer.refusal == (400, "idempotency_key_invalid", "Idempotency-Key")
    assert_nothing_stored()


# --- The query ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("nothing=1", "nothing"),
        ("limit=1&limit=2", "limit"),
        ("limit[]=1", "limit[]"),
        ("limit=%ff", "limit"),
        ("limit=%00", "limit"),
        ("limit=1%00", "limit"),
        ("starting_after=a%00b", "starting_after"),
        ("a%00b=1", "a?b"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=1e1", "limit"),
        ("limit=%D9%A1", "limit"),
        ("limit=", "limit"),
        ("=1", ""),
    ],
)
def test_a_query_that_is_not_understood_is_refused(acme: ApiClient, query: str, param: str) -> None:
    answer = acme.get(f"/v1/events?{query}")

    assert answer.refusal == (400, "parameter_invalid", param)
    assert_envelope(answer)


def test_a_name_that_is_not_utf_8_is_refused(acme: ApiClient) -> None:
    answer = acme.get("/v1/balance?%ff=1")

    assert answer.refusal == (400, "parameter_invalid", "�")


@pytest.mark.parametrize(
    "query", ["&".join(["a=1"] * 1001), "&".join(f"a{n}" for n in range(1500))]
)
def test_a_query_of_too_many_parameters_is_a_refusal(acme: ApiClient, query: str) -> None:
    answer = acme.get(f"/v1/events?{query}")

    assert answer.refusal[:2] == (400, "parameter_invalid")
    assert_envelope(answer)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("intent_id", ["a%00b", "%ff", "x", "x" * 4000])
def test_an_id_that_is_no_id_is_unknown(acme: ApiClient, method: str, intent_id: str) -> None:
    answer = acme._call(method, f"/v1/payment_intents/{intent_id}", b"{}", {})

    assert answer.refusal == (404, "resource_missing", None)
    assert_envelope(answer)


def test_a_create_takes_no_query_but_expand(acme: ApiClient) -> None:
    assert acme.post("/v1/customers?email=a", {}).refusal == (400, "parameter_invalid", "email")


# --- The version ----------------------------------------------------------------------------


def test_the_version_is_answered_back(acme: ApiClient) -> None:
    pinned = acme.get("/v1/balance")
    asked = acme.get("/v1/balance", pf_version="2026-11-01")
    refused = acme.post("/v1/customers", b"[]", pf_version="2026-11-01")

    assert [answer.headers["PF-Version"] for answer in (pinned, asked, refused)] == [
        "2026-11-01"
    ] * 3


@pytest.mark.parametrize("version", ["2020-01-01", "2026-11-01 ", "", "x"])
def test_an_unknown_version_is_refused(acme: ApiClient, version: str) -> None:
    answer = acme.get("/v1/balance", pf_version=version)

    assert answer.refusal == (400, "api_version_invalid", "PF-Version")
    assert_envelope(answer)


def test_stripes_version_is_ignored(acme: ApiClient) -> None:
    assert acme.get("/v1/balance", stripe_version="2024-06-20").status == 200


def test_an_answer_has_a_request_id_of_its_own(acme: ApiClient) -> None:
    ids = [acme.get("/v1/balance").headers["Request-Id"] for _ in range(2)]

    assert all(request_id.startswith("req_") for request_id in ids)
    assert ids[0] != ids[1]
