"""The API's description: where it is found, that it is one, and that nothing departs from it."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import drf_spectacular
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from jsonschema_rs import Draft202012Validator

from config.management.commands import write_schema
from config.openapi.document import document, written
from config.openapi.operations import examples
from core.rest import components, schema
from core.rest.error_codes import catalogue
from core.rest.fields import Integer
from core.rest.forms import Form
from devstack.state import ROOT
from events import types
from merchants.models import RequestLog
from payments.customers import render as customer_render
from payments.intents import render
from tests.stage import described
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.described import Undescribed
from tests.stage.factories import payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])
VALIDATION = Path(drf_spectacular.__file__).with_name("validation")
OPENAPI = Draft202012Validator(
    # Its package of validation is not imported: that takes two seconds of each worker.
    json.loads(VALIDATION.joinpath("openapi_3_1_schema.json").read_bytes())
)
DOCS = ROOT / "docs" / "errors.md"


def references(shape: Any) -> set[str]:
    """Return all that a part of the schema refers to."""
    if isinstance(shape, list):
        return set().union(*map(references, shape))
    if not isinstance(shape, dict):
        return set()
    return set().union(*map(references, shape.values())) | (
        {shape["$ref"]} if isinstance(shape.get("$ref"), str) else set()
    )


# --- Where it is ------------------------------------------------------------------------------


def test_the_schema_is_served_to_whoever_asks(client: Client) -> None:
    answer = client.get("/v1/openapi.json")

    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer.json() == described.published() | {"servers": answer.json()["servers"]}
    assert not RequestLog.objects.exists()


def test_the_served_schema_names_the_installation(client: Client, settings: Any) -> None:
    [server] = client.get("/v1/openapi.json").json()["servers"]

    assert server["url"] == settings.BASE_URL


def test_asking_for_the_schema_with_a_key_is_no_request_of_the_merchants(acme: ApiClient) -> None:
    answer = acme.get("/v1/openapi.json")

    assert answer["openapi"] == "3.1.1"
    assert not RequestLog.objects.exists()


def test_the_schema_can_only_be_read(acme: ApiClient) -> None:
    assert acme.post("/v1/openapi.json").refusal == (405, "method_not_allowed", None)


# --- That it is right -------------------------------------------------------------------------


def test_the_kept_schema_is_the_codes() -> None:
    call_command("write_schema", check=True)


def test_a_kept_schema_that_has_drifted_is_told(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drifted = tmp_path / "openapi.json"
    drifted.write_text("{}")
    monkeypatch.setattr(write_schema, "PATH", drifted)

    with pytest.raises(CommandError, match="write_schema"):
        call_command("write_schema", check=True)


def test_the_schema_is_openapi() -> None:
    made = json.loads(written())

    assert [problem.message for problem in OPENAPI.iter_errors(made)] == []
    made["paths"]["/v1/balance"]["get"]["responses"]["200"].pop("description")
    assert [problem.message for problem in OPENAPI.iter_errors(made)] != []


def test_what_the_schema_refers_to_is_there() -> None:
    made = document()

    for reference in references(made):
        _hash, *path = reference.split("/")
        found: Any = made
        for part in path:
            found = found[part]


def test_each_type_of_event_is_described() -> None:
    assert list(document()["webhooks"]) == list(types.names())


def test_each_operation_has_a_name_of_its_own_and_a_recorded_answer() -> None:
    names = [
        operation["operationId"] for item in document()["paths"].values()
        for operation in item.values()
    ]  # fmt: skip

    assert len(set(names)) == len(names)
    assert set(names) - {"openapi_retrieve"} <= examples().keys()


# --- That nothing departs from it -------------------------------------------------------------


def test_a_field_that_is_not_described_is_found(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = customer_render.customer
    monkeypatch.setattr(customer_render, "customer", lambda row: {**shown(row), "shoe_size": 42})

    with pytest.raises(Undescribed, match="customers_create 200 .*shoe_size"):
        acme.post("/v1/customers")


def test_a_field_that_is_missing_is_found(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "CARD_FIELDS", ("brand",))

    with pytest.raises(Undescribed, match="payment_intents_create 200 .* at card"):
        acme.pay()


@pytest.mark.parametrize(
    ("status", "code"), [(402, "card_declined"), (400, "webhook_url_not_allowed")]
)
def test_a_refusal_that_is_not_described_is_found(status: int, code: str, acme: ApiClient) -> None:
    body = {**acme.get("/v1/customers/cus_unknown").body}
    body["error"]["code"] = code

    with pytest.raises(Undescribed):
        described.check("POST", "/v1/customers", {}, status, body)


def test_a_word_that_is_not_described_is_found() -> None:
    body = copy.deepcopy(examples()["payment_intents_create"]["response"])
    body["status"] = "thinking_about_it"

    with pytest.raises(Undescribed, match="payment_intents_create 200 .* at status"):
        described.check("POST", "/v1/payment_intents", payment(), 200, body)


def test_a_name_for_two_shapes_is_refused() -> None:
    two = [components.named("Shoe", {"type": kind}) for kind in ("integer", "string")]

    assert components.hoisted([two[0], two[0]], {}) == [schema.ref("Shoe"), schema.ref("Shoe")]
    with pytest.raises(components.NameTaken, match="Shoe is described in two ways"):
        components.hoisted(two, {})


class ShoeForm(Form):
    schema_name = "ShoeParams"
    size = Integer(minimum=1, maximum=60, help_text="The size.")


class UnexplainedShoeForm(ShoeForm):
    size = Integer(minimum=1, maximum=60)


def test_a_field_of_a_form_without_a_text_is_refused() -> None:
    described_well = components.shape_of(schema.of_form(ShoeForm))["properties"]

    assert described_well["size"]["description"].startswith("The size.")
    with pytest.raises(ImproperlyConfigured, match="UnexplainedShoeForm.size has no help_text"):
        schema.of_form(UnexplainedShoeForm)


def test_a_parameter_that_is_taken_and_not_described_is_found() -> None:
    answer = examples()["payment_intents_create"]["response"]

    with pytest.raises(Undescribed, match="body, which was accepted"):
        described.check("POST", "/v1/payment_intents", payment(tip=1), 200, answer)


def test_a_query_that_is_taken_and_not_described_is_found(acme: ApiClient) -> None:
    customers = acme.get("/v1/customers").body

    with pytest.raises(Undescribed, match="took {'shoe_size'}"):
        described.check("GET", "/v1/customers?limit=1&shoe_size=42", None, 200, customers)


# --- Where a refusal's code is explained ------------------------------------------------------


def test_each_code_has_a_place_on_the_page_of_errors(client: Client) -> None:
    page = client.get("/docs/errors").content.decode()

    codes = {code for code, _status, _text in catalogue()}
    assert codes <= set(re.findall(r'id="(\w+)"', page))


def test_each_code_has_one_place_in_the_written_list_of_errors() -> None:
    anchors = re.findall(r'<a id="(\w+)"></a>', DOCS.read_text())

    assert anchors == sorted({code for code, _status, _text in catalogue()})
