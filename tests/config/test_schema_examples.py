"""The schema's examples: a story that was told once, and what the service answered to it.

`RECORD_EXAMPLES=1` writes docs/openapi-examples.json anew; then run `manage.py write_schema`.
"""

import os
import re
from copy import deepcopy
from typing import Any

import orjson
import pytest

from config.openapi.operations import (
    CODES,
    EXAMPLES,
    JSON,
    SHARED_CODES,
    SHARED_STATUSES,
    examples,
)
from docsite.reference import openapi as docs
from events import types
from tests.stage import described
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.examples.answers import tell_answers
from tests.stage.examples.events import tell_events
from tests.stage.examples.refusals import tell_of_any, tell_own, tell_typical
from tests.stage.examples.storyteller import Storyteller

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

Refusal = tuple[str, str, str]
# Beside the operations.
APART = ("refusals", "events")
# Codes that the story cannot show, with what they would take.
NOT_TOLD = {
    "https_required": "a live installation",
    "header_repeated": "two lines of one header, which the tests' client cannot send",
    "idempotency_key_in_use": "a second request while the first is under way",
}
# A status of one operation that has no other code.
ALONE = {"balance_retrieve 403": "https_required alone"}


def told(client: ApiClient, settings: Any) -> dict[str, Any]:
    story = Storyteller(client)
    tell_answers(story)
    tell_events(story)
    assert tell_typical(story) > 50
    tell_own(story)
    tell_of_any(story, settings)
    return story.told


def refusals(examples: dict[str, Any]) -> dict[Refusal, dict[str, Any]]:
    """Return the refusals of examples by operation ("" for all of them), status and code."""
    of_all = {"": {"refusals": examples["refusals"]}}
    return {
        (name, status, code): body
        for name, example in [*examples.items(), *of_all.items()]
        for status, bodies in example.get("refusals", {}).items()
        if name not in APART
        for code, body in bodies.items()
    }


def words(examples: dict[str, Any]) -> dict[Refusal, tuple[str, str | None]]:
    """Return the message, without its dates, and the `param` of each refusal."""
    found = refusals(examples).items()
    return {
        key: (re.sub(r"\d{4}-\d\d-\d\d", "{day}", one["error"]["message"]), one["error"]["param"])
        for key, one in found
    }


@pytest.mark.dear("each operation is called, and refused with each of its codes")
def test_the_story_of_the_examples_can_be_told(
    undescribed: None, acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    now = told(acme, settings)

    if os.environ.get("RECORD_EXAMPLES"):
        EXAMPLES.write_bytes(
            orjson.dumps(now, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        )
        examples.cache_clear()
    assert now.keys() == examples().keys()
    assert words(now) == words(examples())
    assert now["events"].keys() == examples()["events"].keys()


def test_the_examples_are_still_what_the_service_answers() -> None:
    operations = {name: one for name, one in examples().items() if name not in APART}

    for name, example in operations.items():
        described.check_operation(name, example.get("request"), 200, example["response"])
    refusal = described.validator({"$ref": "#/components/schemas/Error"})
    for (_name, _status, code), body in refusals(examples()).items():
        refusal.validate(body)
        assert body["error"]["code"] == code
    for event in examples()["events"].values():
        described.check_operation("events_retrieve", None, 200, event)


def without_example(document: dict[str, Any]) -> list[str]:
    """Return what of a document has no example: a refusal of an operation, a code, an event."""
    found, everywhere = [], set()
    for operation in (one for item in document["paths"].values() for one in item.values()):
        name = operation["operationId"]
        for status, codes in operation[CODES].items():
            answer = docs.followed(operation["responses"][status])
            shown = answer["content"][JSON].get("examples", {}).keys()
            everywhere |= shown
            found += [f"{name} {status}"] if not shown else []
            own = set(codes) - SHARED_CODES if int(status) not in SHARED_STATUSES else set()
            found += [f"{name} {status} {code}" for code in sorted(own - shown)]
    every = {code for item in document["paths"].values() for one in item.values()
             for codes in one[CODES].values() for code in codes}  # fmt: skip
    found += sorted(every - everywhere)
    events = document["webhooks"].items()
    bodies = {name: one["post"]["requestBody"]["content"][JSON] for name, one in events}
    return found + [name for name, body in bodies.items() if "example" not in body]


def test_each_refusal_and_each_event_has_an_example() -> None:
    lacking = without_example(docs.document())

    assert set(lacking) == {*NOT_TOLD, *ALONE}
    codes = len({code for _name, _status, code in refusals(examples())})
    print(f"{len(refusals(examples()))} refusals of {codes} codes, {len(types.names())} events")  # noqa: T201


def test_a_lost_example_is_found() -> None:
    document = deepcopy(docs.document())
    refund = document["paths"]["/v1/refunds"]["post"]["responses"]
    del refund["404"]["content"][JSON]["examples"]
    del refund["400"]["content"][JSON]["examples"]["payment_disputed"]
    del document["webhooks"]["payout.paid"]["post"]["requestBody"]["content"][JSON]["example"]

    found = set(without_example(document)) - {*NOT_TOLD, *ALONE}

    assert found == {
        "refunds_create 404", "refunds_create 400 payment_disputed", "payment_disputed",
        "payout.paid",
    }  # fmt: skip
