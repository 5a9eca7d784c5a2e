"""A list refuses unknown parameters and values by name, and repeats no value (contract 7).

The lists are those of the schema, so that a new one is tried with everything here.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest

from core.rest import list_query, lists
from core.rest.query import Given
from tests.stage import described
from tests.stage.book_keeping import Till
from tests.stage.books import logged
from tests.stage.client import Answer, ApiClient
from tests.stage.refusals import assert_envelope

pytestmark = pytest.mark.django_db

PAYMENTS = "/v1/payment_intents"
SECRET = "zebra"  # Stands in values: no answer repeats it.
# Words that a refusal tells as what is allowed.
TOLD = {"total_count", "succeeded"}

Bad = tuple[str, str | None]  # A query, and the parameter that its refusal names.


def lists_of(schema: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the lists' paths, each with its parameters in the query."""
    found = {}
    for path, item in schema["paths"].items():
        asked = [one for one in item.get("get", {}).get("parameters", []) if one.get("in")]
        if any(one["name"] == "limit" for one in asked):
            found[path] = [one for one in asked if one["in"] == "query"]
    return found


LISTS = lists_of(described.document())
EVERY_LIST = pytest.mark.parametrize("path", LISTS)
# The prefixes of the ids that may be a cursor.
SHOWN = {
    PAYMENTS: {"pi"},
    "/v1/refunds": {"re"},
    "/v1/disputes": {"dp"},
    "/v1/payouts": {"po"},
    "/v1/topups": {"tu"},
    "/v1/customers": {"cus"},
    "/v1/checkout/sessions": {"cs"},
    "/v1/checkout/sessions/{session_id}/line_items": {"li"},
    "/v1/search": {"pi", "cus"},
    "/v1/events": {"evt"},
    "/v1/events/{event_id}/deliveries": {"whd"},
    "/v1/webhook_endpoints": {"we"},
    "/v1/webhook_endpoints/{endpoint_id}/deliveries": {"whd"},
    "/v1/request_logs": {"req"},
    "/v1/balance_transactions": {"txn"},
}


class Owned(NamedTuple):
    """A merchant's objects: one id of each kind that the API has so far."""

    payment: str
    customer: str
    event_id: str
    endpoint_id: str
    request: str
    transaction: str
    session_id: str
    merchant: str


def owned(client: ApiClient) -> Owned:
    payment = client.post(PAYMENTS, {"amount": 1, "currency": "try"})
    host = "acme" if client.merchant.name.startswith("Acme") else "globex"
    endpoint = {"url": f"https://{host}.example/hooks", "enabled_events": ["*"]}
    return Owned(
        payment["id"],
        client.post("/v1/customers")["id"],
        client.get("/v1/events?limit=1")["data"][0]["id"],
        client.post("/v1/webhook_endpoints", endpoint)["id"],
        payment.headers["Request-Id"],
        Till(client.merchant).topup(100).id,
        client.post("/v1/checkout/sessions", {"amount": 1, "currency": "try"})["id"],
        client.merchant.id,
    )


@pytest.fixture
def theirs(acme: ApiClient) -> Owned:
    return owned(acme)


def address(path: str, ids: Owned, query: str) -> str:
    """Return a list's address with a query behind what the list needs."""
    needed = [f"{one['name']}=tea" for one in LISTS[path] if one.get("required")]
    return f"{path.format(**ids._asdict())}?{'&'.join([*needed, query])}"


def assert_tells_no_value(answer: Answer, query: str) -> None:
    """No value of the query is in the answer, nor in what the log has as the path."""
    assert_envelope(answer)
    told = f"{answer.error['message']} {answer.error['param']}"
    values = {value for _name, value in parse_qsl(query, errors="replace") if len(value) > 2}
    assert [value for value in values - TOLD if value in told] == []
    assert SECRET not in str(answer.body)
    path = answer.response.request["PATH_INFO"]
    assert logged(answer).path == path
    assert SECRET not in path


def assert_refuses(acme: ApiClient, path: str, ids: Owned, table: Iterable[Bad]) -> None:
    """Each query of the table is refused, by the name of its parameter."""
    differing = {}
    for query, param in (tried := list(table)):
        answer = acme.get(address(path, ids, query))
        if answer.status != 400 or answer.refusal != (400, "parameter_invalid", param):
            differing[query[:100]] = answer.status, answer.body.get("error")
        else:
            assert_tells_no_value(answer, query)
    assert differing == {}
    print(f"{path}: {len(tried)} queries")  # noqa: T201


# --- What every list refuses ------------------------------------------------------------------


def deep(levels: int) -> str:
    return "created" + "[gte]" * levels


EVERYWHERE: list[Bad] = [
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
    ("&".join(["expand[]=foo"] * 1000), "expand[]"),
    ("&".join(["expand[]=foo"] * 1001), "expand[]"),
    ("expand[a]=customer", "expand[a]"),
    ("&".join(f"expand[{n}]=foo" for n in range(999)), "expand[]"),
    (f"{deep(7)}=1", deep(7)),
    (f"{deep(8)}=1", deep(8)),
    (f"{deep(9)}=1", deep(9)),
    ("created[foo]=1", "created[foo]"),
    ("created[]=1", "created[]"),
    ("amount[foo]=1", "amount[foo]"),
    ("amount[gte][gte]=1", "amount[gte][gte]"),
    ("metadata[]=1", "metadata[]"),
    (f"metadata={SECRET}", "metadata"),
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
]  # fmt: skip


@EVERY_LIST
def test_a_list_refuses_what_no_list_takes(acme: ApiClient, path: str, theirs: Owned) -> None:
    assert_refuses(acme, path, theirs, EVERYWHERE)


def malformed(parameter: dict[str, Any]) -> Iterator[Bad]:
    """Yield what no parameter of this shape takes."""
    name, shape = parameter["name"], parameter["schema"]
    yield f"{name}=%ff{SECRET}", name
    if shape.get("type") == "object":
        yield from ((f"{name}{key}={SECRET}", f"{name}{key}") for key in ("", "[]", "[a][b]"))
        return
    if shape.get("type") == "array":
        base = name.removesuffix("[]")
        # Whether a field can be expanded is told by the name that bodies have for it as well.
        told = name if base == "expand" else base
        yield from ((f"{base}={SECRET}", told), (f"{base}[]={SECRET}", name))
        yield f"{base}[x]={SECRET}", f"{base}[x]"
        return
    yield from ((f"{name}{key}=1", f"{name}{key}") for key in ("[]", "[foo]"))
    yield f"{name}={SECRET}&{name}={SECRET}", name
    if shape.get("type") == "integer":
        yield from ((f"{name}={bad}", name) for bad in (SECRET, "1e2", "%D9%A5"))
    if "enum" in shape:
        yield f"{name}={SECRET}", name


@EVERY_LIST
def test_a_list_refuses_what_its_own_parameters_do_not_take(
    acme: ApiClient, path: str, theirs: Owned
) -> None:
    known = {*lists.CONVENTIONS, "include[]"}
    own = [one for one in LISTS[path] if one["name"] not in known and not one.get("required")]

    assert_refuses(acme, path, theirs, [bad for one in own for bad in malformed(one)])


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
        ("last4=424", "last4"),
        ("last4=42424", "last4"),
        ("last4=424a", "last4"),
        ("last4=%D9%A4%D9%A2%D9%A4%D9%A2", "last4"),
        ("last4[]=4242", "last4[]"),
        ("last4=", "last4"),
        ("program=", "program"),
        ("program=Bonus", "program"),
        ("program=bonus%20", "program"),
        ("program=%D9%A4", "program"),
        (f"program={'a' * 41}", "program"),
        ("program[]=bonus", "program[]"),
        ("program=bonus&program=bonus", "program"),
        ("issuer=", "issuer"),
        (f"issuer={'a' * 101}", "issuer"),
        ("issuer[]=Bank", "issuer[]"),
        ("issuer=Bank&issuer=Bank", "issuer"),
        ("installments=", "installments"),
        ("installments=3.0", "installments"),
        ("installments=-1", "installments"),
        ("installments=100", "installments"),
        ("installments=%D9%A3", "installments"),
        ("installments[]=3", "installments[]"),
        ("installments[gte]=3", "installments[gte]"),
        ("domestic=", "domestic"),
        ("domestic=True", "domestic"),
        ("domestic=0", "domestic"),
        ("domestic[]=true", "domestic[]"),
        ("currency=t%C5%9F%C4%B1", "currency"),
        ("currency=tr", "currency"),
        ("currency=zzz", "currency"),
        ("currency=TRL", "currency"),
        ("currency=xxx", "currency"),
        ("currency=%C4%B1sk", "currency"),
        ("currency=try%0A", "currency"),
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
        ("q=%E2%80%8B%CC%87%20", "q"),
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
        ("sort=amount", "sort"),
        ("status=succeeded", "status"),
        ("created=1", "created"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("path", FILTERED)
def test_a_filter_refuses(acme: ApiClient, path: str, theirs: Owned) -> None:
    assert_refuses(acme, path, theirs, FILTERED[path])


@pytest.mark.parametrize(
    ("query", "code"),
    [("", "parameter_missing"), ("q=", "parameter_invalid"), ("q[]=tea", "parameter_invalid")],
)
def test_a_search_needs_a_text(acme: ApiClient, query: str, code: str) -> None:
    answer = acme.get(f"/v1/search?limit=1&{query}")

    assert answer.refusal == (400, code, "q[]" if "[]" in query else "q")


# --- Cursors and ids --------------------------------------------------------------------------


@EVERY_LIST
def test_both_cursors_exclude_each_other(acme: ApiClient, path: str, theirs: Owned) -> None:
    answer = acme.get(address(path, theirs, "starting_after=x&ending_before=y"))

    assert answer.refusal == (400, "parameters_exclusive", "ending_before")


NO_IDS = [SECRET, "", "pi_unknown", "pi_" + "x" * 4000, "%F0%9F%90%BC", "%2525ff"]


@pytest.mark.dear("reads each list of the API")
@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@EVERY_LIST
def test_a_cursor_is_one_of_the_lists_own_objects(
    acme: ApiClient, globex: ApiClient, path: str, theirs: Owned
) -> None:
    own = {row_id for row_id in theirs if row_id.partition("_")[0] in SHOWN[path]}
    foreign = {*theirs, *owned(globex), *NO_IDS} - own

    for param in list_query.CURSORS:
        for row_id in foreign:
            answer = acme.get(address(path, theirs, f"{param}={row_id}"))
            assert answer.refusal == (404, "resource_missing", param), row_id
            assert_tells_no_value(answer, f"{param}={row_id}")
        for row_id in own:
            assert acme.get(address(path, theirs, f"{param}={row_id}")).status == 200


@pytest.mark.parametrize("path", [path for path in LISTS if "{" in path])
def test_the_list_of_what_is_not_there_is_missing(
    acme: ApiClient, globex: ApiClient, path: str, theirs: Owned
) -> None:
    [parameter] = re.findall("{(.+)}", path)
    own = getattr(theirs, parameter)

    for row_id in {*theirs, *owned(globex), *NO_IDS, "a%00b", "%ff"} - {own, ""}:
        answer = acme.get(re.sub("{.+}", row_id, path))
        assert answer.refusal == (404, "resource_missing", None), row_id
        assert_envelope(answer)


def test_what_means_nothing_is_told_before_what_is_missing(acme: ApiClient) -> None:
    query = "starting_after=pi_unknown&customer=cus_unknown&amount[foo]=1"

    assert acme.get(f"{PAYMENTS}?{query}").refusal == (400, "parameter_invalid", "amount[foo]")


# --- What would be found ----------------------------------------------------------------------


def test_every_list_is_tried() -> None:
    of_a_new_one = {"/v1/refunds": {"get": {"parameters": [{"name": "limit", "in": "query"}]}}}

    assert LISTS.keys() == SHOWN.keys()
    assert lists_of({"paths": of_a_new_one}).keys() == {"/v1/refunds"}


def test_a_list_that_takes_what_it_does_not_understand_is_found(
    acme: ApiClient, theirs: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_query, "LIMIT", re.compile("[0-9]+"))

    with pytest.raises(AssertionError, match="limit=101"):
        assert_refuses(acme, "/v1/events", theirs, EVERYWHERE)


def test_a_refusal_that_repeats_a_value_is_found(
    acme: ApiClient, theirs: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    def repeating(given: Given, _known: Collection[str]) -> Exception:
        return given.refusal(f"{given.values} is not valid.")

    monkeypatch.setattr(Given, "unknown", repeating)

    with pytest.raises(AssertionError, match=SECRET):
        assert_refuses(acme, "/v1/events", theirs, [(f"colour={SECRET}", "colour")])
