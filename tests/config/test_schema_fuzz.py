"""Requests made up from the schema, right ones and wrong ones, by one of two merchants.

No answer is our fault, none is outside of the schema (the test client sees to that), and
none tells anything of the other merchant's.
"""

import json
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.schemas import APIOperation

from core.querysets import MerchantRows
from payments.customers import render
from tests.stage import described
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory, line, payment, payment_method, unconfirmed
from tests.stage.lengths import SEED, tried

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

READ_CUSTOMER = "GET /v1/customers/{customer_id}"
SECRET = "for Globex's eyes only"
IDS_IN_QUERIES = ("starting_after", "ending_before", "customer", "object_id", "aggregate_id", "q")


@dataclass
class World:
    """Both merchants, and what each of them has, by what addresses call its id."""

    acme: ApiClient
    own: dict[str, list[str]]
    foreign: dict[str, list[str]]

    def ids(self, name: str) -> list[str]:
        return [*self.own[name], *self.foreign[name]]

    def any_ids(self) -> list[str]:
        return [one for name in self.own for one in self.ids(name)]


def belongings(client: ApiClient, text: str) -> dict[str, list[str]]:
    """Make one of everything, with a text in it wherever a text can be."""
    told = {"description": text, "metadata": {"note": text}}
    customer = client.post("/v1/customers", {"name": text, **told})["id"]
    mine = {"customer": customer, **told}
    bodies = [
        unconfirmed(line_items=[line(12500, name=text)], **mine),
        payment(**mine),
        payment(capture_method="manual", **mine),
    ]
    payments = [client.post("/v1/payment_intents", body) for body in bodies]
    endpoint = EndpointFactory(merchant=client.merchant, description=text)
    events = client.get("/v1/events?limit=100")["data"]
    return {
        "intent_id": [shown["id"] for shown in payments],
        "customer_id": [customer],
        "endpoint_id": [endpoint.id],
        "event_id": [event["id"] for event in events],
        "log_id": [shown.headers["Request-Id"] for shown in payments],
    }


@pytest.fixture
def world(acme: ApiClient, globex: ApiClient, bank: BankTransport) -> World:
    return World(acme, belongings(acme, "Tea"), belongings(globex, SECRET))


@cache
def operations() -> dict[str, APIOperation]:
    """Return what the schema describes, by method and path."""
    loaded = schemathesis.openapi.from_dict(deepcopy(described.document()))
    found = {one.ok().label: one.ok() for one in loaded.get_all_operations()}
    return {label: one for label, one in found.items() if one.path != "/v1/openapi.json"}


def examples(count: int) -> hypothesis_settings:
    return hypothesis_settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def with_real_things(case: Case, world: World, draw: Any) -> None:
    """Put ids that exist, and cards that are taken, into some places of a made-up request."""
    # A made-up part may be one of the schema's own examples, an object that later requests share.
    for part in ("path_parameters", "query", "body"):
        setattr(case, part, deepcopy(getattr(case, part)))
    for name in case.path_parameters or {}:
        if name in world.own and draw(st.integers(0, 4)):
            case.path_parameters[name] = draw(st.sampled_from(world.ids(name)))
    for name in IDS_IN_QUERIES:
        if name in (case.query or {}) and draw(st.booleans()):
            case.query[name] = draw(st.sampled_from(world.any_ids()))
    if not isinstance(case.body, dict):
        return
    if case.body.get("customer"):
        case.body["customer"] = draw(st.sampled_from(world.ids("customer_id")))
    if case.operation.path.startswith("/v1/payment_intents") and draw(st.booleans()):
        case.body |= draw(st.sampled_from(AS_TAKEN))


AS_TAKEN: list[dict[str, Any]] = [
    {},
    {"currency": "try"},
    {"currency": "try", "installments": 1, "surcharge": None, "line_items": None,
     "customer": None, "return_url": None, "payment_method_data": payment_method()},
]  # fmt: skip


def written(case: Case) -> requests.PreparedRequest | None:
    """Return the request as it goes over the wire; None for headers that cannot."""
    given_to = case.as_transport_kwargs(base_url="http://service.test")
    parts = ("method", "url", "params", "headers", "json", "data", "files")
    try:
        return requests.Request(**{part: given_to.get(part) for part in parts}).prepare()
    except (requests.exceptions.InvalidHeader, UnicodeEncodeError):
        return None


def send(case: Case, world: World) -> int:
    """Send a request as Acme; return the answer's status."""
    request = written(case)
    if request is None:
        return 0
    body = request.body or b""
    headers = {name: _text(value) for name, value in request.headers.items()}
    headers |= {"authorization": f"Bearer {world.acme.key}"}
    answer = world.acme.send(
        request.method,
        request.path_url,
        body.encode() if isinstance(body, str) else body,
        {name.lower(): value for name, value in headers.items()},
    )
    content = json.dumps(answer.body, ensure_ascii=False)
    assert answer.status < 500, content
    assert SECRET not in content
    # The logs show Acme's own requests, which named these ids.
    if not case.operation.path.startswith("/v1/request_logs"):
        assert not [one for ids in world.foreign.values() for one in ids if one in content]
    return answer.status


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def sent(operation: APIOperation, world: World, how: hypothesis_settings) -> Counter[int]:
    """Send made-up requests for an operation; return how often it answered what."""
    answered: Counter[int] = Counter()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @seed(SEED)
        @how
        @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
        def send_one(case: Case, data: st.DataObject) -> None:
            with_real_things(case, world, data.draw)
            answered[send(case, world)] += 1

        try:
            send_one()
        except Unsatisfiable:
            continue  # Nothing about it can be wrong.
    return answered


def all_tried(some: Iterable[APIOperation], world: World, how: hypothesis_settings) -> Counter[int]:
    answered, problems = Counter[int](), []
    for operation in some:
        try:
            answered += sent(operation, world, how)
        except AssertionError as problem:
            problems.append(f"{operation.label}: {problem}")
    print(f"{answered.total()} requests, answered {dict(sorted(answered.items()))}")  # noqa: T201
    assert not problems, "\n\n".join(problems)
    return answered


def shown(globex: ApiClient) -> list[Any]:
    addresses = ("payment_intents", "customers", "webhook_endpoints", "events")
    return [globex.get(f"/v1/{address}?limit=100").body for address in addresses]


@pytest.mark.dear("right and wrong requests for every operation, made up by schemathesis")
# The first time its libraries are compiled.
@pytest.mark.timeout(300)
def test_made_up_requests_are_answered_by_the_schema(world: World, globex: ApiClient) -> None:
    before = shown(globex)

    answered = all_tried(operations().values(), world, examples(2))

    assert shown(globex) == before
    assert answered[200] > 10


def test_what_is_shown_to_the_wrong_merchant_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MerchantRows, "for_merchant", lambda rows, _merchant: rows)

    with pytest.raises(AssertionError, match=SECRET):
        sent(operations()[READ_CUSTOMER], world, examples(10))


def test_a_crash_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "customer", lambda _row: 1 / 0)

    with pytest.raises(AssertionError, match="internal_error"):
        sent(operations()[READ_CUSTOMER], world, examples(10))


@pytest.mark.proof(part="fuzz")
@pytest.mark.only_full("a twin with fewer is in every run")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("half", [0, 1])
def test_thousands_of_made_up_requests_are_answered_by_the_schema(
    half: int, world: World, globex: ApiClient
) -> None:
    before = shown(globex)
    each = 120

    answered = all_tried([*operations().values()][half::2], world, examples(each))

    tried(answered.total(), "made-up requests")
    assert shown(globex) == before
    assert answered[200] > 3 * each
