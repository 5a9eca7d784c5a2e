"""One request in the panel: bodies, error, events, repetitions, and the command for it."""

import json
from typing import Any

import pytest
from django.test import Client

from core import ids
from events.models import Event
from merchants.models import RequestLog
from tests.stage.bank_transport import BankTransport
from tests.stage.books import logged
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, RequestLogFactory, payment, unconfirmed
from tests.stage.hooks import created
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

KIB = 1024
FULL = 16 * KIB


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def open_log(owner: Client, acme: ApiClient, row: RequestLog | str) -> Any:
    row_id = row if isinstance(row, str) else row.id
    return owner.get(f"/panel/{acme.merchant.id}/request_logs/{row_id}")


def made(acme: ApiClient, **fields: Any) -> RequestLog:
    return RequestLogFactory(merchant=acme.merchant, **fields)


def test_a_payment_shows_what_was_sent_answered_and_caused(
    owner: Client, acme: ApiClient, bank: BankTransport
) -> None:
    created(acme)
    paid = acme.post("/v1/payment_intents", payment(), idempotency_key="order 7")

    answer = open_log(owner, acme, logged(paid))
    page = answer.content.decode()

    events = {event.type for event in Event.objects.filter(request_id=paid.headers["Request-Id"])}
    caused = answer.context["caused"]
    assert answer.status_code == 200
    assert {one.event.type for one in caused} == events != set()
    assert all(len(one.deliveries) == 1 for one in caused)
    assert all(text in page for text in (paid["id"], "order 7", "424242******4242", "Pending"))
    assert GOOD_CARD not in page
    assert acme.key not in page


def test_an_error_is_explained_and_leads_to_its_page(owner: Client, acme: ApiClient) -> None:
    refused = acme.post("/v1/payment_intents", unconfirmed(amount=0))

    answer = open_log(owner, acme, logged(refused))

    problem = answer.context["problem"]
    assert (problem.code, problem.param) == (refused.error["code"], "amount")
    assert problem.text == refused.error["message"]
    assert problem.url.endswith(f"/errors#{problem.code}")
    assert f'href="{problem.url}"' in answer.content.decode()


def test_an_error_whose_answer_is_cut_has_the_codes_own_words(
    owner: Client, acme: ApiClient
) -> None:
    row = made(acme, response_body='{"error":{"co', truncated=True, error_code="resource_missing")

    assert open_log(owner, acme, row).context["problem"].text == "There is no such object."
    invalid = made(acme, response_body="", error_code="parameter_invalid")
    general = "The parameter's value is not valid."
    assert open_log(owner, acme, invalid).context["problem"].text == general


def test_a_replay_leads_to_the_first_request_and_back(
    owner: Client, acme: ApiClient, bank: BankTransport
) -> None:
    body = payment()
    first = logged(acme.post("/v1/payment_intents", body, idempotency_key="order 8"))
    again = logged(acme.post("/v1/payment_intents", body, idempotency_key="order 8"))

    of_first, of_again = open_log(owner, acme, first), open_log(owner, acme, again)

    assert (first.original_request, again.original_request) == (None, first.id)
    assert [row.id for row, _url in of_first.context["same_key"]] == [again.id]
    assert "Repetition" in of_first.content.decode()
    assert f'/request_logs/{first.id}"' in of_again.content.decode()
    assert "given once more" in of_again.content.decode()
    assert acme.get(f"/v1/request_logs/{again.id}")["original_request"] == first.id


def test_another_merchants_requests_with_the_same_key_are_not_shown(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    RequestLogFactory(merchant=globex.merchant, idempotency_key="order 9")

    answer = open_log(owner, acme, made(acme, idempotency_key="order 9"))

    assert answer.context["same_key"] == []


def test_foreign_unknown_and_forgotten_requests_read_alike(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    foreign = RequestLogFactory(merchant=globex.merchant).id
    nobodys = RequestLogFactory(merchant=None).id
    odd = [ids.new("req"), "req_", "x", "%3Cb%3E", "pi_x", "y" * 3000, "%25", "a%20b"]

    answers = [open_log(owner, acme, one) for one in (foreign, nobodys, *odd)]

    assert {answer.status_code for answer in answers} == {404}
    assert len({_main(answer) for answer in answers}) == 1
    assert "kept for 30 days" in answers[0].content.decode()
    assert open_log(owner, acme, "%00").status_code == 404


def test_a_body_of_one_long_line_is_shown_once_and_its_cut_is_marked(
    owner: Client, acme: ApiClient
) -> None:
    line = '{"description":"' + "x" * FULL
    row = made(acme, request_body=line[:FULL], truncated=True)

    answer = open_log(owner, acme, row)

    page = answer.content.decode()
    assert (answer.context["sent"].is_cut, answer.context["answered"].is_cut) == (True, False)
    assert page.count("Cut after 16 KiB") == 1
    assert page.count("x" * 1000) == 16 - 1 or page.count("x" * (FULL - 16)) == 1
    assert len(page) < 3 * FULL
    assert answer.context["call"] == ""


@pytest.mark.parametrize(
    "body",
    ["", '"<script>alert(1)</script>"', '{"a":"\\u202e\\u200b"}', "9" * 5000, "[" * 5000, "NaN"],
)  # fmt: skip
def test_odd_bodies_are_shown_as_text(owner: Client, acme: ApiClient, body: str) -> None:
    odd = "/v1/<script>alert(1)</script>\u202e"
    row = made(acme, request_body=body, response_body=body, path=odd, query='"><img onerror=x>')

    answer = open_log(owner, acme, row)

    assert answer.status_code == 200
    assert "<script>alert" not in answer.content.decode()
    assert "<img onerror" not in answer.content.decode()


@pytest.mark.parametrize("kind", ["job", "panel"])
def test_a_change_that_was_no_call_of_the_api_has_no_bodies(
    owner: Client, acme: ApiClient, kind: str
) -> None:
    row = made(
        acme, kind=kind, method=None, status=None, request_body=None, response_body=None,
        error_code=None, path="payments.intents.tasks.resolve_unknown",
    )  # fmt: skip

    answer = open_log(owner, acme, row)

    assert answer.context["call"] == ""
    assert "Request body" not in answer.content.decode()


def test_a_change_in_the_panel_has_a_row_that_its_event_names(
    owner: Client, acme: ApiClient
) -> None:
    url = f"/panel/{acme.merchant.id}/websites"
    token = owner.get(url).context["token"]

    owner.post(url, {"token": token, "website": "https://shop.example"})
    owner.post(url, {"token": token, "website": "x"})

    event = Event.objects.get(type="merchant.updated")
    [row] = RequestLog.objects.filter(kind="panel")
    assert (row.id, row.merchant_id) == (event.request_id, acme.merchant.id)
    assert (row.method, row.path, row.status, row.object_id) == ("POST", url, 303, acme.merchant.id)
    assert {row.request_body, row.response_body, row.api_key, row.ip, row.query} == {None}
    assert [one.event.id for one in open_log(owner, acme, row).context["caused"]] == [event.id]


# --- As a command ---------------------------------------------------------------------------


def test_the_command_has_no_key_and_no_card(
    owner: Client, acme: ApiClient, bank: BankTransport
) -> None:
    paid = acme.post("/v1/payment_intents", payment(), idempotency_key="order 7")

    call = open_log(owner, acme, logged(paid)).context["call"]

    sent = json.loads(call.split("-d '", 1)[1].removesuffix("'"))
    assert sent["payment_method_data"].keys() == {"type", "billing_details"}
    assert sent["amount"] == payment()["amount"]
    assert "/v1/payment_intents" in call
    assert "$SECRET_KEY" in call
    assert not any(text in call for text in (acme.key, "4242", "order 7"))


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"method": "GET", "request_body": None, "query": "limit=1&created[gte]=5"},
         "/v1/payment_intents?limit=1&created[gte]=5'"),
        ({"method": "HEAD", "request_body": None}, "curl --head "),
        ({"path": "/v1/it's; rm -rf $(pwd)\n"}, "/v1/it'\"'\"'s;%20rm%20-rf%20$(pwd)%0A'"),
        ({"request_body": '{"name":"it\'s $HOME"}'}, """-d '{"name": "it'"'"'s $HOME"}'"""),
        ({"method": "X; ls"}, "-X 'X; ls'"),
    ],
)  # fmt: skip
def test_a_pasted_command_runs_nothing_else(
    owner: Client, acme: ApiClient, fields: dict[str, Any], part: str
) -> None:
    assert part in open_log(owner, acme, made(acme, **fields)).context["call"]


# --- Elsewhere ------------------------------------------------------------------------------


def test_the_search_leads_to_the_request(owner: Client, acme: ApiClient) -> None:
    row = made(acme)

    found = owner.get(f"/panel/{acme.merchant.id}/search", {"q": row.id})

    assert found["Location"] == f"/panel/{acme.merchant.id}/request_logs/{row.id}"


def _main(answer: Any) -> str:
    page = answer.content.decode().replace(answer["Request-Id"], "")
    return page.split("<main", 1)[1].split("</main>", 1)[0]
