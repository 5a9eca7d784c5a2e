"""Reading bodies: what cannot mean one thing only is refused, and no value comes back."""

import json
from typing import Any

import pytest
from django.conf import settings

from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, payment, payment_method
from tests.stage.refusals import assert_envelope, assert_nothing_stored

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = GOOD_CARD
NUMBER = "payment_method_data[card][number]"
ZIP = {"address": {"zip": "34000"}}


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


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("depth", [1, 9, 300, *range(900, 1000, 4), 2000])
def test_a_card_number_that_is_a_deep_list_is_a_refusal(acme: ApiClient, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
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
