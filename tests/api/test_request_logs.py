"""Request logs: every request to /v1 has one row, and a merchant reads its own (contract 2)."""

import json

import pytest
from django.test import Client
from django.utils import timezone

from core import context
from ledger import balance
from merchants import keys
from merchants.models import ApiKey, Merchant, RequestLog
from tests.stage.bank_transport import BankTransport
from tests.stage.books import logged
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD, payment
from tests.stage.refusals import raw

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FIELDS = {
    "id", "object", "created", "livemode", "kind", "method", "path", "query", "status",
    "duration_ms", "api_key", "idempotency_key", "object_id", "ip", "api_version",
    "original_request", "request_body", "response_body", "truncated", "error_code",
}  # fmt: skip


# --- What has a row -------------------------------------------------------------------------


def test_a_payment_is_logged_with_all_that_a_merchant_asks_for(
    acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.post("/v1/payment_intents", payment(), idempotency_key="order 7")

    log = acme.get(f"/v1/request_logs/{paid.headers['Request-Id']}").body

    assert log.keys() == FIELDS
    assert log["object"] == "request_log"
    assert log["kind"] == "api"
    assert (log["method"], log["path"], log["query"]) == ("POST", "/v1/payment_intents", None)
    assert (log["status"], log["error_code"]) == (200, None)
    assert (log["object_id"], log["idempotency_key"]) == (paid["id"], "order 7")
    assert log["api_key"] == ApiKey.objects.get(merchant=acme.merchant).id
    assert (log["ip"], log["api_version"]) == ("127.0.0.1", "2026-11-01")
    assert 0 <= paid["created"] - log["created"] <= 1
    assert 0 < log["duration_ms"] < 10_000
    assert json.loads(log["response_body"]) == paid.body
    assert (log["livemode"], log["truncated"]) == (False, False)


def test_a_request_that_sends_a_mail_when_it_is_answered_has_its_row(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, made = balance.shown, []

    def shown_and_mailed(merchant: Merchant) -> dict[str, object]:
        context.when_answered(lambda: made.append("mail"))
        return shown(merchant)

    monkeypatch.setattr(balance, "shown", shown_and_mailed)

    asked = acme.get("/v1/balance")

    assert made == ["mail"]
    assert RequestLog.objects.filter(id=asked.headers["Request-Id"]).count() == 1


def too_large(acme: ApiClient) -> Answer:
    return acme.post("/v1/customers", b" " * 300_000)


# By name: the request, then the status, code and object id that its row must have.
REQUESTS = {
    "a read": (lambda acme: acme.get("/v1/balance"), 200, None, "bal_"),
    "an unknown address": (lambda acme: acme.get("/v1/nothing"), 404, "url_not_found", None),
    "a slash too many": (lambda acme: acme.get("/v1/balance/"), 404, "url_not_found", None),
    "the root": (lambda acme: acme.get("/v1"), 404, "url_not_found", None),
    "an unknown object": (
        lambda acme: acme.get("/v1/payment_intents/pi_none"), 404, "resource_missing", "pi_none",
    ),
    "no id at all": (lambda acme: acme.get("/v1/events/x"), 404, "resource_missing", None),
    "a wrong method": (
        lambda acme: acme._call("DELETE", "/v1/balance", b"", {}), 405, "method_not_allowed", None,
    ),
    "a strange method": (
        lambda acme: acme._call("PROPFINDANYTHING1", "/v1", b"", {}), 404, "url_not_found", None,
    ),
    "a bad host": (
        lambda acme: acme.get("/v1/balance", host="evil.example"), 400, "parameter_invalid", None,
    ),
    "a card in the address": (
        lambda acme: acme.get(f"/v1/customers/{GOOD_CARD}"), 400, "card_data_in_url", None,
    ),
    "a NUL in the path": (
        lambda acme: acme.get("/v1/customers/a%00b"), 404, "resource_missing", None,
    ),
    "a query that is no text": (
        lambda acme: acme.get("/v1/events?limit=%ff"), 400, "parameter_invalid", None,
    ),
    "too large a body": (too_large, 413, "body_too_large", None),
    "a body of another type": (
        lambda acme: acme.post("/v1/customers", b"a=b", content_type="text/plain"),
        415, "unsupported_media_type", None,
    ),
    "a broken body": (lambda acme: acme.post("/v1/customers", b"{"), 400, "body_invalid", None),
    "a wrong parameter": (
        lambda acme: acme.post("/v1/customers", {"nme": "x"}), 400, "parameter_unknown", None,
    ),
    "an unknown version": (
        lambda acme: acme.get("/v1/balance", pf_version="x"), 400, "api_version_invalid", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REQUESTS)
def test_every_request_has_exactly_one_row(acme: ApiClient, name: str) -> None:
    call, status, code, object_id = REQUESTS[name]

    answer = call(acme)

    row = RequestLog.objects.get()
    assert row == logged(answer)
    assert (row.status, row.error_code) == (status, code) == (answer.status, code)
    assert (row.object_id or "").startswith(object_id or "")
    assert (row.object_id is None) == (object_id is None)
    assert (row.merchant_id, row.kind) == (acme.merchant.id, "api")
    assert json.loads(row.response_body) == answer.body


def test_pages_that_are_not_the_api_have_no_rows(client: Client) -> None:
    for path in ("/healthz", "/docs/errors", "/account/login", "/nothing", "/v10", "/"):
        client.get(path)

    assert not RequestLog.objects.exists()


def test_a_crash_is_logged(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "shown", lambda _merchant: 1 / 0)

    row = logged(acme.get("/v1/balance"))

    assert (row.status, row.error_code) == (500, "internal_error")


def test_a_head_request_is_logged_without_the_body_that_it_did_not_get(acme: ApiClient) -> None:
    headers = {"authorization": f"Bearer {acme.key}"}

    acme.http.head("/v1/customers/cus_none", headers=headers)

    row = RequestLog.objects.get()
    assert (row.method, row.status, row.error_code) == ("HEAD", 404, "resource_missing")
    assert (row.object_id, row.response_body) == ("cus_none", None)


def test_a_replay_is_a_request_of_its_own(acme: ApiClient, bank: BankTransport) -> None:
    first = acme.post("/v1/payment_intents", payment(), idempotency_key="k")
    second = acme.post("/v1/payment_intents", payment(), idempotency_key="k")

    rows = [logged(first), logged(second)]

    assert len({row.id for row in rows}) == 2
    assert {row.object_id for row in rows} == {first["id"]}
    assert rows[0].response_body == rows[1].response_body


def test_an_empty_body_is_null(acme: ApiClient) -> None:
    row = logged(acme.post("/v1/customers", b""))

    assert (row.request_body, row.query) == (None, None)


# --- Whose row it is ------------------------------------------------------------------------


def test_a_request_without_a_known_key_belongs_to_nobody(acme: ApiClient) -> None:
    answers = [
        raw("GET", "/v1/balance"),
        acme.twin("sk_sandbox_x").get("/v1/balance"),
        acme.twin(keys.new_secret()).get("/v1/balance"),
        acme.twin(keys.new_secret()).get("/v1/nothing"),
        raw("POST", "/v1/customers", b'{"email": "ada@example.com"}'),
    ]

    rows = [logged(answer) for answer in answers]

    assert {(row.merchant_id, row.api_key) for row in rows} == {(None, None)}
    assert [row.status for row in rows] == [401, 401, 401, 404, 401]
    assert {row.request_body for row in rows} == {None}
    assert acme.get("/v1/request_logs")["data"] == []


@pytest.mark.parametrize("field", ["revoked_at", "expires_at"])
def test_a_request_with_a_key_that_ended_belongs_to_its_merchant(
    acme: ApiClient, field: str
) -> None:
    key, secret = keys.create(acme.merchant, name="old")
    ApiKey.objects.filter(id=key.id).update(**{field: timezone.now()})

    row = logged(acme.twin(secret).get("/v1/balance"))

    assert row.status == 401
    assert (row.merchant_id, row.api_key) == (acme.merchant.id, key.id)


def test_another_merchants_rows_are_as_unknown_as_none(acme: ApiClient, globex: ApiClient) -> None:
    log_id = acme.get("/v1/balance").headers["Request-Id"]
    nobodys = raw("GET", "/v1/balance").headers["Request-Id"]

    answers = [globex.get(f"/v1/request_logs/{one}") for one in (log_id, nobodys, "req_none", "x")]

    assert {answer.refusal for answer in answers} == {(404, "resource_missing", None)}
    listed = globex.get("/v1/request_logs?limit=100")["data"]
    assert {log["path"].rpartition("/")[0] for log in listed} == {"/v1/request_logs"}
    assert globex.get(f"/v1/request_logs?starting_after={log_id}").refusal[0] == 404


def test_a_key_without_the_scope_reads_no_logs(acme: ApiClient) -> None:
    _key, secret = keys.create(acme.merchant, name="shop", scopes={"request_logs": "none"})

    answer = acme.twin(secret).get("/v1/request_logs")

    assert answer.refusal == (403, "permission_denied", None)


# --- Reading them ---------------------------------------------------------------------------


def test_the_newest_come_first_and_pages_follow_each_other(acme: ApiClient) -> None:
    made = [acme.get("/v1/balance").headers["Request-Id"] for _ in range(3)]

    first = acme.get("/v1/request_logs?path=/v1/balance&limit=2")
    rest = acme.get(f"/v1/request_logs?path=/v1/balance&starting_after={first['data'][-1]['id']}")

    assert [log["id"] for log in first["data"] + rest["data"]] == made[::-1]
    assert (first["has_more"], rest["has_more"]) == (True, False)
    assert first["url"] == "/v1/request_logs"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("status=404", ["GET /v1/customers/cus_none"]),
        ("method=POST", ["POST /v1/customers"]),
        ("path=/v1/balance", ["GET /v1/balance"]),
        ("object_id=cus_none", ["GET /v1/customers/cus_none"]),
        ("status=200&method=GET", ["GET /v1/balance"]),
        ("object_id=cus_other", []),
        ("status=503", []),
        ("created[lt]=1", []),
        ("created[gte]=1&status=404", ["GET /v1/customers/cus_none"]),
    ],
)
def test_filters_find_the_equal_ones(acme: ApiClient, query: str, found: list[str]) -> None:
    acme.get("/v1/balance")
    acme.post("/v1/customers", {})
    acme.get("/v1/customers/cus_none")

    logs = acme.get(f"/v1/request_logs?{query}")["data"]

    assert [f"{log['method']} {log['path']}" for log in logs] == found


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=abc", "status"),
        ("status=", "status"),
        ("status=20", "status"),
        ("status=2000", "status"),
        ("status=%D9%A2%D9%A0%D9%A0", "status"),
        ("status=200&status=404", "status"),
        ("method=get", "method"),
        ("ip=127.0.0.1", "ip"),
        ("limit=0", "limit"),
    ],
)
def test_a_malformed_filter_is_refused(acme: ApiClient, query: str, param: str) -> None:
    answer = acme.get(f"/v1/request_logs?{query}")

    assert answer.refusal == (400, "parameter_invalid", param)


def test_looking_at_logs_is_logged_without_the_logs(acme: ApiClient) -> None:
    acme.get("/v1/balance")

    looks = [acme.get("/v1/request_logs"), acme.get("/v1/request_logs/req_none")]

    shown, refused = (logged(look) for look in looks)
    assert (shown.status, shown.response_body) == (200, None)
    assert json.loads(refused.response_body) == looks[1].body
    assert refused.object_id == "req_none"
