"""Reading addresses: an unknown, repeated or broken argument is refused."""

import pytest

from tests.stage.client import ApiClient
from tests.stage.form_writing import FORM, post_form
from tests.stage.refusals import assert_envelope, raw

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


TOO_MANY = "There are more than 1000 parameters."


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("&".join(["expand[]=customer"] * 1001), "expand[]"),
        ("&".join(["expand%5B%5D=customer"] * 5000), "expand[]"),
        ("&".join(f"expand[{n}]=customer" for n in range(1001)), "expand[1000]"),
        ("&".join(f"a{n}" for n in range(1500)), "a1000"),
        ("&".join(f"%C5%9F+{n}=1" for n in range(1001)), "ş 1000"),
        ("&".join(["%ff=1"] * 1001), "�"),
        ("&" * 1000, None),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_query_of_too_many_parameters_is_told_so(
    acme: ApiClient, method: str, query: str, param: str | None
) -> None:
    answer = acme._call(method, f"/v1/payment_intents?{query}", b"", {})

    assert answer.refusal == (400, "parameter_invalid", param)
    assert answer.error["message"].endswith(TOO_MANY)
    assert_envelope(answer)


def test_a_query_of_a_thousand_parameters_is_read(acme: ApiClient) -> None:
    query = "&".join(["expand[]=customer"] * 1000)

    assert acme.get(f"/v1/payment_intents?{query}").status == 200


def test_a_form_of_too_many_parameters_is_told_so(acme: ApiClient) -> None:
    form = "&".join(["amount=100", "currency=try", *["expand[]=customer"] * 999])

    refused = post_form(acme, "/v1/payment_intents", form)
    taken = post_form(acme, "/v1/payment_intents", form.removesuffix("&expand[]=customer"))

    assert refused.refusal == (400, "parameter_invalid", "expand[]")
    assert refused.error["message"].endswith(TOO_MANY)
    assert taken.status == 200


def test_a_page_that_is_sent_too_many_parameters_says_so_too() -> None:
    answer = raw("POST", "/account/login", b"a=1&" * 1001, content_type=FORM)

    assert answer.refusal == (400, "parameter_invalid", None)
    assert answer.error["message"].endswith(TOO_MANY)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("intent_id", ["a%00b", "%ff", "x", "x" * 4000])
def test_an_id_that_is_no_id_is_unknown(acme: ApiClient, method: str, intent_id: str) -> None:
    answer = acme._call(method, f"/v1/payment_intents/{intent_id}", b"{}", {})

    assert answer.refusal == (404, "resource_missing", None)
    assert_envelope(answer)


def test_a_create_takes_no_query_but_expand(acme: ApiClient) -> None:
    assert acme.post("/v1/customers?email=a", {}).refusal == (400, "parameter_invalid", "email")
