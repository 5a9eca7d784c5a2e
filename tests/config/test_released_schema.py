"""The schema may grow: what clients of the released one would miss is found."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from config.management.commands.write_schema import PATH, RELEASED
from config.openapi.released import broken
from tests.stage.lengths import tried

NOW = json.loads(PATH.read_bytes())
SCHEMAS, PARAMETERS = NOW["components"]["schemas"], NOW["components"]["parameters"]
PAYMENTS = "/v1/payment_intents"


def change(path: str, do: Callable[[Any], object]) -> list[str]:
    """Return what is broken by a change of the part at a path, names by `>`."""
    later = deepcopy(NOW)
    part = later
    for name in path.split(">"):
        part = part[name]
    do(part)
    return broken(NOW, later)


PAYMENT = "components>schemas>PaymentIntent"
CREATE = "components>schemas>PaymentIntentCreateParams"
LIST = f"paths>{PAYMENTS}>get"
BREAKING: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "an operation goes": (f"paths>{PAYMENTS}", lambda it: it.pop("post"), f"POST {PAYMENTS} is"),
    "a path goes": ("paths", lambda it: it.pop("/v1/balance"), "GET /v1/balance is gone"),
    "an event goes": ("webhooks", lambda it: it.pop("payout.paid"), "payout.paid is gone"),
    "a field goes": (f"{PAYMENT}>properties", lambda it: it.pop("card"), "card is gone"),
    "a field may be absent": (f"{PAYMENT}>required", lambda it: it.remove("id"), "id may be"),
    "a field may be null": (
        f"{PAYMENT}>properties>amount", lambda it: it.update(type=["integer", "null"]), "be null",
    ),
    "a field has another type": (
        f"{PAYMENT}>properties>amount", lambda it: it.update(type="string"), "may be string",
    ),
    "a field of a list goes": (
        "components>schemas>PaymentIntentList>properties", lambda it: it.pop("has_more"), "_more",
    ),
    "a parameter of a body goes": (
        f"{CREATE}>properties", lambda it: it.pop("description"), "description is gone",
    ),
    "a parameter becomes required": (
        CREATE, lambda it: it["required"].append("description"), "description becomes required",
    ),
    "a limit becomes narrower": (
        f"{CREATE}>properties>installments", lambda it: it.update(maximum=3), "maximum becomes 3",
    ),
    "a value is taken no more": (
        "components>schemas>CaptureMethod>enum", lambda it: it.remove("manual"), "manual is gone",
    ),
    "a query parameter goes": (
        f"{LIST}>parameters", lambda it: it.pop(0), "is gone",
    ),
    "a query parameter becomes required": (
        f"{LIST}>parameters",
        lambda it: it.append({"in": "query", "name": "x", "required": True, "schema": {}}),
        "parameter x becomes required",
    ),
    "another form of answer": (
        f"{LIST}>responses>200>content", lambda it: it.pop("application/json"), "json is gone",
    ),
}  # fmt: skip
GROWING: dict[str, tuple[str, Callable[[Any], object]]] = {
    "a path": ("paths", lambda it: it.update({"/v1/new": it["/v1/balance"]})),
    "a field": (f"{PAYMENT}>properties", lambda it: it.update(new={"type": "string"})),
    "a parameter": (f"{CREATE}>properties", lambda it: it.update(new={"type": "string"})),
    "a value of an open field": (
        "components>schemas>PaymentIntentStatus>enum", lambda it: it.append("new"),
    ),
    "a wider limit": (f"{CREATE}>properties>installments", lambda it: it.update(maximum=99)),
    "another description": (PAYMENT, lambda it: it.update(description="Another.")),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKING)
def test_what_breaks_a_client_is_found(name: str) -> None:
    path, do, fault = BREAKING[name]

    found = change(path, do)

    assert len(found) >= 1
    assert any(fault in one for one in found), found


@pytest.mark.parametrize("name", GROWING)
def test_what_is_added_breaks_no_client(name: str) -> None:
    assert change(*GROWING[name]) == []


def test_a_correction_breaks_no_client_and_any_other_null_does() -> None:
    before = deepcopy(NOW)
    before["components"]["schemas"]["Card"]["properties"]["brand"]["anyOf"].remove({"type": "null"})
    assert broken(before, NOW) == []

    later = deepcopy(NOW)
    later["components"]["schemas"]["Card"]["properties"]["card_type"]["anyOf"] += [{"type": "null"}]
    assert [one.endswith("card: card_type may be null") for one in broken(before, later)] == [True]


def test_the_schema_breaks_no_client_of_the_released_one() -> None:
    before = json.loads(RELEASED.read_bytes())

    assert broken(before, NOW) == []
    tried(sum(map(len, before["paths"].values())), "released operations")
