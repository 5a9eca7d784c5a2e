"""What a list does not understand it refuses by name, and repeats no value (contract 7)."""

from collections.abc import Callable

import pytest

from tests.client import ApiClient
from tests.refusals import assert_envelope

pytestmark = pytest.mark.django_db

PAYMENTS = "/v1/payment_intents"
LISTS = [
    PAYMENTS, "/v1/customers", "/v1/events", "/v1/webhook_endpoints", "/v1/request_logs",
    "/v1/search?q=tea",
]  # fmt: skip
EVERY_LIST = pytest.mark.parametrize("path", LISTS)
SECRET = "zebra"  # Stands in values: no answer repeats it.


def refused(client: ApiClient, path: str, query: str) -> tuple[int, str, str | None]:
    answer = client.get(f"{path}{'&' if '?' in path else '?'}{query}")
    assert_envelope(answer)
    assert SECRET not in str(answer.body)
    return answer.refusal


def deep(levels: int) -> str:
    return "created" + "[gte]" * levels


@EVERY_LIST
@pytest.mark.parametrize(
    ("query", "param"),
    [
        *((f"limit={bad}", "limit") for bad in (
            "0", "101", "-1", "1e2", "%D9%A5", "+5", "", "1.0", "0x5", "05", SECRET,
        )),
        ("limit=5&limit=5", "limit"),
        ("limit[]=5", "limit[]"),
        ("starting_after=a&starting_after=b", "starting_after"),
        ("ending_before[]=a", "ending_before[]"),
        ("include[]=foo", "include[]"),
        ("include[0]=foo", "include[0]"),
        (f"include={SECRET}", "include"),
        ("include[]=total_count&include[]=foo", "include[]"),
        ("include[x]=total_count", "include[x]"),
        ("sort=-created,amount", "sort"),
        (f"sort={SECRET}", "sort"),
        ("sort=--created", "sort"),
        ("sort=created_at", "sort"),
        ("sort=", "sort"),
        ("sort=created&sort=-created", "sort"),
        ("expand[]=foo", "expand[]"),
        ("&".join(["expand[]=foo"] * 999), "expand[]"),
        ("expand[a]=customer", "expand[a]"),
        ("&".join(f"expand[{n}]=foo" for n in range(1500)), None),
        (f"{deep(8)}=1", None),
        (f"{deep(9)}=1", deep(9)),
        ("created]=1", "created]"),
        ("[created]=1", "[created]"),
        ("created[gte=1", "created[gte"),
        (f"colour={SECRET}", "colour"),
        ("colour[gte]=1", "colour[gte]"),
        ("limit=%00", "limit"),
        ("limit=%ff", "limit"),
        ("sort=created%00", "sort"),
        ("starting_after=%ff", "starting_after"),
        ("a%00b=1", "a?b"),
        ("%ff=1", "�"),
    ],
)  # fmt: skip
def test_every_list_refuses(acme: ApiClient, path: str, query: str, param: str | None) -> None:
    status, code, named = refused(acme, path, query)

    assert (status, code) == (400, "parameter_invalid")
    assert param is None or named == param


FILTERED = {
    PAYMENTS: [
        *((f"created{bad}", f"created{bad.partition('=')[0]}") for bad in (
            f"={SECRET}", "[foo]=1", "[]=1", "[0]=1", "[gte][lt]=1", "[gte]=", "[gte]=-1",
            "[gte]=1.5", "[gte]=1e9", "[lt]=%D9%A5", "[lte]=999999999999", "[gt]=true", "=01",
            "[gte]=1&created[gte]=2", "[exact]=1", "[in]=1", "[GTE]=1", "=%20" + "1", "=1_0",
        )),
        ("amount[foo]=1", "amount[foo]"),
        (f"amount[gte]={SECRET}", "amount[gte]"),
        ("amount[gte]=1000000000000", "amount[gte]"),
        ("amount=1&amount=1", "amount"),
        ("status=paid", "status"),
        (f"status[]=succeeded&status[]={SECRET}", "status[]"),
        ("status[0]=succeeded&status[0]=canceled", "status[0]"),
        ("status[x]=succeeded", "status[x]"),
        ("status[1000]=succeeded", "status[1000]"),
        ("status=", "status"),
        ("capture_method=both", "capture_method"),
        ("capture_method[]=manual", "capture_method[]"),
        ("currency=t%C5%9F%C4%B1", "currency"),
        ("currency=tr", "currency"),
        ("customer=a&customer=b", "customer"),
        ("customer[]=cus_x", "customer[]"),
        ("metadata[]=1", "metadata[]"),
        (f"metadata={SECRET}", "metadata"),
        ("metadata[a]=", "metadata[a]"),
        ("metadata[a][b]=1", "metadata[a][b]"),
        ("metadata[a]=1&metadata[a]=2", "metadata[a]"),
        (f"metadata[{'a' * 41}]=1", f"metadata[{'a' * 41}]"),
        (f"metadata[a]={'b' * 501}", "metadata[a]"),
        ("&".join(f"metadata[{n}]=1" for n in range(11)), "metadata[10]"),
        ("q=", "q"),
        ("q=%20", "q"),
        ("q=a&q=b", "q"),
        ("q[]=a", "q[]"),
        (f"q={'a' * 256}", "q"),
        ("email=ayse@example.com", "email"),
        ("arrival_date=1", "arrival_date"),
    ],
    "/v1/customers": [
        ("created[foo]=1", "created[foo]"),
        ("email=", "email"),
        ("email[]=ayse@example.com", "email[]"),
        ("q=ayse@example.com", "q"),
        ("sort=amount", "sort"),
    ],
    "/v1/request_logs": [
        ("created[foo]=1", "created[foo]"),
        ("path=", "path"),
        ("sort=-amount", "sort"),
        ("q=x", "q"),
    ],
    "/v1/search": [
        ("q=", "q"),
        ("q[]=tea", "q[]"),
        ("q=tea&sort=amount", "sort"),
        ("q=tea&status=succeeded", "status"),
        ("q=tea&created=1", "created"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "query", "param"),
    [(path, query, param) for path, rows in FILTERED.items() for query, param in rows],
)
def test_a_filter_refuses(acme: ApiClient, path: str, query: str, param: str) -> None:
    assert refused(acme, path, query) == (400, "parameter_invalid", param)


def test_a_search_needs_a_text(acme: ApiClient) -> None:
    assert refused(acme, "/v1/search", "limit=1") == (400, "parameter_missing", "q")


@EVERY_LIST
def test_both_cursors_exclude_each_other(acme: ApiClient, path: str) -> None:
    refusal = refused(acme, path, "starting_after=x&ending_before=y")

    assert refusal == (400, "parameters_exclusive", "ending_before")


CURSORS: dict[str, Callable[[ApiClient, ApiClient], str]] = {
    "no id": lambda acme, globex: SECRET,
    "nothing": lambda acme, globex: "",
    "a long one": lambda acme, globex: "pi_" + "x" * 4000,
    "unknown": lambda acme, globex: "pi_unknown",
    "another merchant's customer": lambda acme, globex: globex.post("/v1/customers")["id"],
    "another merchant's payment": lambda acme, globex: globex.post(
        PAYMENTS, {"amount": 1, "currency": "try"})["id"],
    "another type's": lambda acme, globex: acme.get("/v1/merchant")["id"],
}  # fmt: skip


@EVERY_LIST
@pytest.mark.parametrize("cursor", CURSORS)
@pytest.mark.parametrize("param", ["starting_after", "ending_before"])
def test_a_cursor_that_is_not_in_the_list_is_missing(
    acme: ApiClient, globex: ApiClient, path: str, cursor: str, param: str
) -> None:
    row_id = CURSORS[cursor](acme, globex)

    assert refused(acme, path, f"{param}={row_id}") == (404, "resource_missing", param)


def test_what_means_nothing_is_told_before_what_is_missing(acme: ApiClient) -> None:
    query = "starting_after=pi_unknown&customer=cus_unknown&amount[foo]=1"

    assert refused(acme, PAYMENTS, query) == (400, "parameter_invalid", "amount[foo]")
