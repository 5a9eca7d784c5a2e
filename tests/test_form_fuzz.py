"""Any form at all: never our fault, and the same object as from JSON."""

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.client import Answer, ApiClient
from tests.factories import GOOD_CARD
from tests.form_writing import post_form

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS = "/v1/payment_intents"
MINE = {"id", "created", "line_items"}


def examples(count: int) -> hypothesis_settings:
    # The merchant is the same for all examples; no example asks what another one left behind.
    return hypothesis_settings(
        max_examples=count, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )


names = st.sampled_from(
    ["amount", "currency", "confirm", "metadata", "expand", "line_items", "description",
     "payment_method_data", "card", "number", "cvc", "billing_details", "0", "1", "", "x"],
) | st.text(max_size=5)  # fmt: skip
values = st.sampled_from(["", "100", "try", "true", GOOD_CARD, "9" * 5000, "-0"]) | st.text()
parameters = st.builds(
    lambda first, parts, value: (first + "".join(f"[{part}]" for part in parts), value),
    names, st.lists(names, max_size=9), values,
)  # fmt: skip
forms = st.lists(parameters, max_size=12).map(
    lambda pairs: "&".join(
        f"{quote(name, safe='[]', errors='replace')}={quote(value, errors='replace')}"
        for name, value in pairs
    ).encode()
)


any_bytes = forms | st.binary() | st.lists(forms | st.binary(), max_size=4).map(b"&".join)


def is_nobodys_fault(acme: ApiClient, form: bytes) -> None:
    answer = post_form(acme, PAYMENTS, form)

    assert answer.status in (200, 400, 404), answer.body


@examples(100)
@given(any_bytes)
def test_no_form_is_our_fault(acme: ApiClient, form: bytes) -> None:
    is_nobodys_fault(acme, form)


@pytest.mark.proof
@pytest.mark.timeout(600)
@examples(1000)
@given(any_bytes)
def test_no_form_of_many_is_our_fault(acme: ApiClient, form: bytes) -> None:
    is_nobodys_fault(acme, form)


texts = st.text(st.characters(codec="utf-8"), max_size=30)
bodies = st.fixed_dictionaries(
    {"amount": st.integers(-1, 2**40), "currency": st.sampled_from(["try", "USD", "x"])},
    optional={
        "description": texts | st.sampled_from(["12", "true", "null", "", "a=b&c", "+%20"]),
        "metadata": st.dictionaries(
            texts.filter(lambda key: key and "[" not in key and "]" not in key)
            | st.integers(0, 3).map(str),
            texts,
            max_size=4,
        ),
        "capture_method": st.sampled_from(["manual", "automatic"]),
        "confirm": st.just(False),
        "installments": st.integers(0, 2),
        "line_items": st.lists(
            st.fixed_dictionaries(
                {"name": texts.filter(bool), "unit_amount": st.integers(0, 100)},
                optional={"quantity": st.integers(1, 3), "item_type": st.just("virtual")},
            ),
            min_size=1,
            max_size=12,
        ),
    },
)


def outcome(answer: Answer) -> Any:
    """Return what two requests of the same content have in common."""
    if answer.status != 200:
        return answer.refusal
    return {name: value for name, value in answer.body.items() if name not in MINE}


def stands_for_its_json(acme: ApiClient, body: dict[str, Any]) -> None:
    if items := body.get("line_items"):
        body["amount"] = sum(item["unit_amount"] * item.get("quantity", 1) for item in items)

    form, json = post_form(acme, PAYMENTS, body), acme.post(PAYMENTS, body)

    assert outcome(form) == outcome(json)


@examples(40)
@given(bodies)
def test_a_form_is_the_json_that_it_stands_for(acme: ApiClient, body: dict[str, Any]) -> None:
    stands_for_its_json(acme, body)


@pytest.mark.proof
@pytest.mark.timeout(600)
@examples(500)
@given(bodies)
def test_many_forms_are_the_json_that_they_stand_for(acme: ApiClient, body: dict[str, Any]) -> None:
    stands_for_its_json(acme, body)
