"""Any form at all: never our fault, and the same object as from JSON."""

from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.form_writing import post_form
from tests.stage.lengths import SEED, tried

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS = "/v1/payment_intents"
MANY = 3000
MINE = {"id", "created"}


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
# Few and all well-formed, so that they meet: as a value, a list and an object.
meeting = st.sampled_from(["metadata", "line_items", "0", "1", "x"])


def forms_of(names: st.SearchStrategy[str], *, depth: int) -> st.SearchStrategy[bytes]:
    parameters = st.builds(
        lambda first, parts, value: (first + "".join(f"[{part}]" for part in parts), value),
        names, st.lists(names, max_size=depth), values,
    )  # fmt: skip
    return st.lists(parameters, max_size=12).map(
        lambda pairs: "&".join(
            f"{quote(name, safe='[]', errors='replace')}={quote(value, errors='replace')}"
            for name, value in pairs
        ).encode()
    )


forms = forms_of(names, depth=9) | forms_of(meeting, depth=2)
any_bytes = forms | st.binary() | st.lists(forms | st.binary(), max_size=4).map(b"&".join)


def is_nobodys_fault(acme: ApiClient, form: bytes) -> int:
    answer = post_form(acme, PAYMENTS, form)

    assert answer.status in (200, 400, 404), answer.body
    return answer.status


@examples(100)
@given(any_bytes)
def test_no_form_is_our_fault(acme: ApiClient, form: bytes) -> None:
    is_nobodys_fault(acme, form)


@pytest.mark.proof(part="fuzz")
@pytest.mark.only_full("its twin above is in every run")
@pytest.mark.timeout(1800)
def test_no_form_of_many_is_our_fault(acme: ApiClient) -> None:
    forms_sent = Counter[int]()

    @seed(SEED)
    @examples(MANY)
    @given(any_bytes)
    def send_one(form: bytes) -> None:
        forms_sent[is_nobodys_fault(acme, form)] += 1

    send_one()
    tried(forms_sent.total(), "forms")


texts = st.text(st.characters(codec="utf-8"), max_size=30)
line_item = st.fixed_dictionaries(
    {"name": texts.filter(bool), "unit_amount": st.integers(0, 100)},
    optional={"quantity": st.integers(1, 3), "item_type": st.just("virtual")},
)
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
        # From the eleventh on, 10 comes before 2 in another order than that of numbers.
        "line_items": st.lists(line_item, min_size=1, max_size=4)
        | st.lists(line_item, min_size=11, max_size=12),
    },
)


def outcome(answer: Answer) -> Any:
    """Return what two requests of the same content have in common."""
    if answer.status != 200:
        return answer.refusal
    return without_mine(answer.body)


def without_mine(shown: Any) -> Any:
    """Leave out of an answer what no other request has, in the objects within it too."""
    if isinstance(shown, list):
        return [without_mine(item) for item in shown]
    if isinstance(shown, dict):
        return {name: without_mine(value) for name, value in shown.items() if name not in MINE}
    return shown


def stands_for_its_json(acme: ApiClient, body: dict[str, Any]) -> int:
    if items := body.get("line_items"):
        body["amount"] = sum(item["unit_amount"] * item.get("quantity", 1) for item in items)

    place = f"{PAYMENTS}?expand[]=line_items"
    form, json = post_form(acme, place, body), acme.post(place, body)

    assert outcome(form) == outcome(json)
    return json.status


@examples(40)
@given(bodies)
def test_a_form_is_the_json_that_it_stands_for(acme: ApiClient, body: dict[str, Any]) -> None:
    stands_for_its_json(acme, body)


@pytest.mark.proof(part="fuzz")
@pytest.mark.only_full("its twin above is in every run")
@pytest.mark.timeout(1800)
def test_many_forms_are_the_json_that_they_stand_for(acme: ApiClient) -> None:
    answered = Counter[int]()

    @seed(SEED)
    @examples(MANY // 2)
    @given(bodies)
    def send_one(body: dict[str, Any]) -> None:
        answered[stands_for_its_json(acme, body)] += 1

    send_one()
    tried(answered.total(), "forms beside their JSON")
