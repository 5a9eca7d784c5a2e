"""Reading addresses: an unknown, repeated or broken argument is refused."""

import pytest

from tests.client import ApiClient
from tests.refusals import assert_envelope

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


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
