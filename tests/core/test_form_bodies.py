"""Form bodies: what JSON takes is taken as a form too, and by the same rules (contract 12)."""

from typing import Any

import pytest
from django.conf import settings

from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import RETURN_URL, confirmation, line, payment, unconfirmed
from tests.stage.form_writing import FORM, post_form
from tests.stage.refusals import assert_envelope, assert_nothing_stored

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS, CUSTOMERS = "/v1/payment_intents", "/v1/customers"
MINE = {
    "id",
    "created",
    "latest_attempt",
    "attempts",
    "line_items",
    "fraud",
}  # Differ from twin to twin.


def shared(answer: Answer) -> dict[str, Any]:
    """Return what two payments of the same body have in common (`fraud` says when)."""
    assert answer.status == 200, answer.body
    return {name: value for name, value in answer.body.items() if name not in MINE}


# --- What is taken ----------------------------------------------------------------------------


def test_a_form_makes_the_payment_that_json_makes(acme: ApiClient, bank: BankTransport) -> None:
    body = payment(
        description="A tea set, 100 % glass & more",
        metadata={"order": "6735", "gift": "true", "0": "first"},
        line_items=[line(12000, quantity=1), line(500, tax_amount=0)],
        return_url=RETURN_URL,
        payment_method_options={"card": {"three_d_secure": "none"}},
    )

    form, twin = post_form(acme, PAYMENTS, body), acme.post(PAYMENTS, body)

    assert shared(form) == shared(twin)
    assert form["fraud"]["risk_score"] == twin["fraud"]["risk_score"]
    assert (form["status"], form["metadata"]) == ("succeeded", body["metadata"])
    assert len(form["line_items"]) == 2


def test_every_step_of_a_payment_takes_a_form(acme: ApiClient, bank: BankTransport) -> None:
    kept = post_form(
        acme, PAYMENTS, {"amount": 5000, "currency": "TRY", "capture_method": "manual"}
    )
    path = f"{PAYMENTS}/{kept['id']}"

    changed = post_form(acme, path, "amount=6000&metadata[a]=1&metadata[b]=2")
    held = post_form(acme, f"{path}/confirm", confirmation())
    taken = post_form(acme, f"{path}/capture", "amount_to_capture=2000")

    assert (changed["amount"], changed["metadata"]) == (6000, {"a": "1", "b": "2"})
    assert (held["status"], held["amount_capturable"]) == ("requires_capture", 6000)
    assert (taken["status"], taken["amount_received"]) == ("succeeded", 2000)


def test_a_payment_is_called_off_with_a_form(acme: ApiClient, bank: BankTransport) -> None:
    kept = acme.post(PAYMENTS, unconfirmed())

    gone = post_form(acme, f"{PAYMENTS}/{kept['id']}/cancel", "cancellation_reason=duplicate")

    assert (gone["status"], gone["cancellation_reason"]) == ("canceled", "duplicate")


def test_an_endpoint_is_told_of_its_events_in_a_form(acme: ApiClient) -> None:
    types = "enabled_events[]=customer.created&enabled_events[]=payment_intent.succeeded"

    made = post_form(acme, "/v1/webhook_endpoints", f"url=https://acme.example/hooks&{types}")
    path = f"/v1/webhook_endpoints/{made['id']}"
    changed = post_form(acme, path, "enabled_events[0]=*&disabled=true")
    rolled = post_form(acme, f"{path}/roll_secret", "previous_secret_expires_in=60")

    assert made["enabled_events"] == ["customer.created", "payment_intent.succeeded"]
    assert (changed["enabled_events"], changed["status"]) == (["*"], "disabled")
    assert rolled["secret"] != made["secret"]


@pytest.mark.parametrize(
    "expand", ["expand[]=customer", "expand[0]=customer", "expand%5B%5D=customer"]
)
def test_a_form_may_ask_for_whole_objects(acme: ApiClient, expand: str) -> None:
    customer = post_form(acme, CUSTOMERS, "name=Ay%C5%9Fe").body

    answer = post_form(
        acme, PAYMENTS, f"amount=100&currency=try&customer={customer['id']}&{expand}"
    )

    assert answer["customer"] == customer


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("name=Ada+Lovelace", "Ada Lovelace"), ("name=Ada%20Lovelace", "Ada Lovelace"),
        ("name=1%2B1", "1+1"), ("name=a%3Db%26c", "a=b&c"), ("name=a=b", "a=b"),
        ("name=100%25", "100%"), ("n%61me=Ada", "Ada"), ("name=Ay%C5%9Fe", "Ayşe"),
        ("name=Ayşe", "Ayşe"), ("name=Ada;email=x", "Ada;email=x"), ("&name=Ada&&", "Ada"),
        ("name=123", "123"), ("name=true", "true"), ("name=null", "null"), ("name=%5B%5D", "[]"),
        ("name=1e5", "1e5"), ("name=007", "007"), ("name=", None),
    ],
)  # fmt: skip
def test_a_text_stays_the_text_that_was_written(
    acme: ApiClient, form: str, name: str | None
) -> None:
    assert post_form(acme, CUSTOMERS, form)["name"] == name


@pytest.mark.parametrize("key", ["0", "1", "7", "2026", "007", "true", "a.b", "é", "a b"])
def test_a_metadata_key_may_be_a_number(acme: ApiClient, key: str) -> None:
    given = {"metadata": {key: "12"}}

    assert post_form(acme, CUSTOMERS, given)["metadata"] == given["metadata"]


def test_nothing_clears_as_null_does(acme: ApiClient) -> None:
    full = {"description": "tea", "metadata": {"a": "1", "b": "2"}}
    kept = acme.post(PAYMENTS, unconfirmed(**full))
    path = f"{PAYMENTS}/{kept['id']}"

    without_a = post_form(acme, path, "metadata[a]=")
    cleared = post_form(acme, path, "description=&metadata=")

    assert without_a["metadata"] == {"b": "2"}
    assert (cleared["description"], cleared["metadata"]) == (None, {})


def test_nothing_for_what_is_needed_is_missing(acme: ApiClient) -> None:
    answer = post_form(acme, PAYMENTS, "amount=&currency=try")

    assert answer.refusal == (400, "parameter_missing", "amount")


@pytest.mark.parametrize("confirm", ["false", "False"])
def test_a_boolean_is_written_in_two_ways(acme: ApiClient, confirm: str) -> None:
    answer = post_form(acme, PAYMENTS, f"amount=100&currency=try&confirm={confirm}")

    assert answer["status"] == "requires_payment_method"


@pytest.mark.parametrize("confirm", ["true", "True"])
def test_a_boolean_that_is_true_confirms(
    acme: ApiClient, bank: BankTransport, confirm: str
) -> None:
    answer = post_form(acme, PAYMENTS, {**payment(), "confirm": confirm})

    assert answer["status"] == "succeeded"


@pytest.mark.parametrize("content_type", [FORM.upper(), f"{FORM}; charset=UTF-8", f"{FORM};a=b"])
def test_a_forms_type_may_be_written_in_several_ways(acme: ApiClient, content_type: str) -> None:
    assert post_form(acme, CUSTOMERS, "name=Ada", content_type=content_type)["name"] == "Ada"


def test_an_empty_form_is_an_empty_object(acme: ApiClient) -> None:
    assert post_form(acme, CUSTOMERS, "").status == 200


# --- What is refused --------------------------------------------------------------------------


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    "amount",
    ["12.5", "12500.0", "1e4", "true", "+1", " 1", "1 ", "1_0", "0x10", "010", "--1", "١٢", "1,0",
     "1" * 101, "1" * 5000],
)  # fmt: skip
def test_an_amount_is_written_as_json_would_write_it(acme: ApiClient, amount: str) -> None:
    answer = post_form(acme, PAYMENTS, {"amount": amount, "currency": "try"})

    assert answer.refusal == (400, "parameter_invalid", "amount")


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    ("amount", "code"),
    [("0", "amount_too_small"), ("-5", "amount_too_small"), ("9" * 100, "amount_too_large")],
)
def test_an_amount_out_of_range_is_refused_as_in_json(
    acme: ApiClient, amount: str, code: str
) -> None:
    answer = post_form(acme, PAYMENTS, f"amount={amount}&currency=try")

    assert answer.refusal == (400, code, "amount")


@pytest.mark.parametrize("confirm", ["1", "0", "yes", "TRUE", "on", "null", "tru%65 "])
def test_a_boolean_is_not_guessed(acme: ApiClient, confirm: str) -> None:
    answer = post_form(acme, PAYMENTS, f"amount=100&currency=try&confirm={confirm}")

    assert answer.refusal == (400, "parameter_invalid", "confirm")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"amount": "12500"}, "amount"),
        ({"confirm": "true"}, "confirm"),
        ({"amount": True}, "amount"),
    ],
)
def test_json_is_not_coerced(acme: ApiClient, body: dict[str, Any], param: str) -> None:
    answer = acme.post(PAYMENTS, unconfirmed(**body))

    assert answer.refusal == (400, "parameter_invalid", param)


DEEP = "a" + "[b]" * 7


@pytest.mark.parametrize(
    ("form", "code", "param"),
    [
        ("name=a&name=b", "parameter_invalid", "name"),
        ("name=a&name=a", "parameter_invalid", "name"),
        ("name=&name=", "parameter_invalid", "name"),
        ("name=a&n%61me=b", "parameter_invalid", "name"),
        ("metadata[a]=1&metadata[a]=2", "parameter_invalid", "metadata[a]"),
        ("metadata=1&metadata[a]=2", "parameter_invalid", "metadata[a]"),
        ("metadata=&metadata[a]=2", "parameter_invalid", "metadata[a]"),
        ("metadata[a]=2&metadata=1", "parameter_invalid", "metadata"),
        ("metadata[a]=1&metadata[a][b]=2", "parameter_invalid", "metadata[a][b]"),
        ("metadata[]=1&metadata[a]=2", "parameter_invalid", "metadata[a]"),
        ("metadata[a]=1&metadata[]=2", "parameter_invalid", "metadata[]"),
        ("metadata[]=1&metadata[0]=2", "parameter_invalid", "metadata[0]"),
        ("metadata[]=1&metadata[a][b]=2", "parameter_invalid", "metadata[a][b]"),
        ("metadata[]=1&metadata[a][]=2", "parameter_invalid", "metadata[a][]"),
        ("metadata[]=1", "parameter_invalid", "metadata"),
        ("metadata[a][]=1", "parameter_invalid", "metadata[a]"),
        ("metadata[a][0]=1", "parameter_invalid", "metadata[a]"),
        ("metadata=1", "parameter_invalid", "metadata"),
        ("name[]=a", "parameter_invalid", "name"),
        ("name[0]=a", "parameter_invalid", "name"),
        ("name[a]=a", "parameter_invalid", "name"),
        ("name[=a", "parameter_invalid", "name["),
        ("name]=a", "parameter_invalid", "name]"),
        ("name[]]=a", "parameter_invalid", "name[]]"),
        ("name[[a]]=a", "parameter_invalid", "name[[a]]"),
        ("name[a]b=a", "parameter_invalid", "name[a]b"),
        ("metadata[a[b]]=a", "parameter_invalid", "metadata[a[b]]"),
        ("a[][b]=1", "parameter_invalid", "a[][b]"),
        ("=a", "parameter_invalid", ""),
        (f"{DEEP}=1", "parameter_unknown", "a"),
        (f"{DEEP}[c]=1", "parameter_invalid", f"{DEEP}[c]"),
        (f"{DEEP}[]=1", "parameter_invalid", f"{DEEP}[]"),
        ("a" + "[b]" * 5000 + "=1", "parameter_invalid", ("a" + "[b]" * 5000)[:200]),
        ("name=a%00", "body_invalid", "name"),
        ("a%00b=a", "body_invalid", "a?b"),
        ("name=%ff", "body_invalid", "name"),
        ("%ff=a", "body_invalid", "�"),
        (b"name=\xff", "body_invalid", "name"),
        ("name=%ED%A0%80", "body_invalid", "name"),
        ("name=100%", "body_invalid", "name"),
        ("name=%zz", "body_invalid", "name"),
        ("name=%u0041", "body_invalid", "name"),
        ("na%me=a", "body_invalid", "na%me"),
        ("name", "body_invalid", None),
        ("name=a&email", "body_invalid", None),
        ('{"name": "a"}', "body_invalid", None),
        ('{"name": "a=b"}', "body_invalid", None),
        ("%7B%22name%22%3A=", "body_invalid", None),
        ("&".join(f"a{n}=1" for n in range(1001)), "parameter_invalid", "a1000"),
        ("&".join(["expand[]=customer"] * 1001), "parameter_invalid", "expand[]"),
        ("&" * 1500 + "a=1", "parameter_unknown", "a"),
        ("&".join(f"a{n}=1" for n in range(1000)), "parameter_unknown", "a0"),
        ("expand=customer", "parameter_invalid", "expand"),
        ("expand[]=nothing", "parameter_invalid", "expand[]"),
        ("nothing=1", "parameter_unknown", "nothing"),
        ("Name=1", "parameter_unknown", "Name"),
        ("email=x", "parameter_invalid", "email"),
    ],
)  # fmt: skip
def test_what_may_mean_two_things_is_refused(
    acme: ApiClient, form: str | bytes, code: str, param: str | None
) -> None:
    answer = post_form(acme, CUSTOMERS, form, idempotency_key="k")

    assert answer.refusal == (400, code, param)
    assert_envelope(answer)
    assert_nothing_stored()


@pytest.mark.parametrize(
    ("lines", "param"),
    [
        ("line_items[1][name]=a", "line_items"),
        ("line_items[0][name]=a&line_items[2][name]=b", "line_items"),
        ("line_items[0][name]=a&line_items[x][name]=b", "line_items"),
        ("line_items[00][name]=a", "line_items"),
        ("line_items[-1][name]=a", "line_items"),
        ("line_items[1000][name]=a", "line_items"),
        ("line_items=a", "line_items"),
        ("line_items[]=a", "line_items[0]"),
        ("line_items[][name]=a", "line_items[][name]"),
        ("line_items[0][name]=a&line_items[0][unit_amount]=1&line_items[0][quantity]=x",
         "line_items[0][quantity]"),
    ],
)  # fmt: skip
def test_lines_count_from_nought_without_a_gap(acme: ApiClient, lines: str, param: str) -> None:
    answer = post_form(acme, PAYMENTS, f"amount=100&currency=try&{lines}")

    assert answer.refusal == (400, "parameter_invalid", param)
    assert_nothing_stored()


def test_lines_may_come_in_any_order(acme: ApiClient) -> None:
    lines = "line_items[1][name]=b&line_items[1][unit_amount]=40&line_items[0][name]=a"

    answer = post_form(
        acme,
        PAYMENTS,
        f"amount=100&currency=try&{lines}&line_items[0][unit_amount]=60&expand[]=line_items",
    )

    assert [item["name"] for item in answer["line_items"]] == ["a", "b"]


def test_a_form_of_the_limit_is_read_and_one_byte_more_is_413(acme: ApiClient) -> None:
    limit = settings.BODY_MAX_BYTES

    read = post_form(acme, CUSTOMERS, b"name=".ljust(limit, b"a"))
    answer = post_form(acme, CUSTOMERS, b"name=".ljust(limit + 1, b"a"))

    assert read.refusal == (400, "parameter_invalid", "name")
    assert answer.refusal == (413, "body_too_large", None)


@pytest.mark.parametrize(
    "headers", [{"content_type": f"{FORM}; charset=iso-8859-9"}, {"content_encoding": "gzip"}]
)
def test_a_form_in_another_encoding_is_415(acme: ApiClient, headers: dict[str, str]) -> None:
    answer = post_form(acme, CUSTOMERS, "name=a", **headers)

    assert answer.refusal == (415, "unsupported_media_type", None)
