"""Lists of refunds: filters, orders, cursors, expansion; and refunds found by their id."""

from collections.abc import Callable

import pytest

from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.client import REFUNDS, ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

NOTHING_GOES_BACK = "4000001100000074"
Listed = Callable[[str], list[str]]


@pytest.fixture
def listed(acme: ApiClient) -> Listed:
    def ask(query: str) -> list[str]:
        answer = acme.get(f"{REFUNDS}?{query}")
        assert answer.status == 200, answer.body
        return [row["id"] for row in answer["data"]]

    return ask


@pytest.fixture
def made(acme: ApiClient, bank: BankTransport) -> dict[str, str]:
    """Refunds by name, the oldest first: 300 and 100 of one payment, of two others all."""
    begin_at_noon()
    payment_id = acme.pay()["id"]
    some = {name: acme.refund(payment_id, amount)["id"] for name, amount in
            (("third", 300), ("first", 100))}  # fmt: skip
    whole = {"all": acme.refund(acme.pay(amount=200)["id"])["id"]}
    return {**some, **whole, "failed": acme.refund(acme.pay(NOTHING_GOES_BACK)["id"], 50)["id"]}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["failed", "all", "first", "third"]),
        ("sort=created", ["third", "first", "all", "failed"]),
        ("sort=amount", ["failed", "first", "all", "third"]),
        ("sort=-amount", ["third", "all", "first", "failed"]),
        ("status=failed", ["failed"]),
        ("status[]=failed&status[]=succeeded", ["failed", "all", "first", "third"]),
        ("status=pending", []),
        ("method=void", ["all"]),
        ("method=refund", ["failed", "first", "third"]),
        ("amount=100", ["first"]),
        ("amount[gte]=100&amount[lt]=300", ["all", "first"]),
        ("amount[gt]=100&amount[lte]=300&sort=amount", ["all", "third"]),
        ("created[gte]=1&method=void", ["all"]),
        ("created[lt]=1", []),
    ],
)
def test_what_is_asked_for_is_listed(
    query: str, names: list[str], made: dict[str, str], listed: Listed
) -> None:
    assert listed(query) == [made[name] for name in names]


def test_a_payments_refunds_are_listed(
    made: dict[str, str], listed: Listed, acme: ApiClient
) -> None:
    payment_id = acme.refunded(made["first"])["payment_intent"]

    assert listed(f"payment_intent={payment_id}") == [made["first"], made["third"]]
    assert listed(f"payment_intent={payment_id}&sort=amount&limit=1") == [made["first"]]
    none = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try"})["id"]
    assert listed(f"payment_intent={none}") == []


def test_a_foreign_payment_is_as_unknown_as_a_made_up_one(
    made: dict[str, str], acme: ApiClient, globex: ApiClient
) -> None:
    foreign = acme.refunded(made["all"])["payment_intent"]

    for unknown in (foreign, "pi_unknown", "x"):
        answer = globex.get(f"{REFUNDS}?payment_intent={unknown}")
        assert answer.refusal == (404, "resource_missing", "payment_intent")


@pytest.mark.parametrize("cursor", ["starting_after", "ending_before"])
def test_a_foreign_cursor_is_as_unknown_as_a_made_up_one(
    cursor: str, made: dict[str, str], globex: ApiClient
) -> None:
    for unknown in (made["all"], "re_unknown", "x"):
        answer = globex.get(f"{REFUNDS}?{cursor}={unknown}")
        assert answer.refusal == (404, "resource_missing", cursor)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("status=open", "status"),
        ("method=chargeback", "method"),
        ("amount=-1", "amount"),
        ("amount[ne]=1", "amount[ne]"),
        ("created=x", "created"),
        ("currency=try", "currency"),
        ("metadata[a]=1", "metadata[a]"),
        ("q=re_1", "q"),
        ("sort=status", "sort"),
        ("expand[]=charge", "expand[]"),
        ("payment_intent[]=a&payment_intent[]=b", "payment_intent[]"),
    ],
)
def test_a_query_that_means_nothing_is_refused(query: str, param: str, acme: ApiClient) -> None:
    assert acme.get(f"{REFUNDS}?{query}").refusal == (400, "parameter_invalid", param)


@pytest.mark.parametrize("sort", ["created", "-created", "amount", "-amount"])
def test_pages_follow_each_other(
    sort: str, made: dict[str, str], listed: Listed, acme: ApiClient
) -> None:
    whole = listed(f"sort={sort}")
    walked: list[str] = []
    cursor = ""
    while True:
        page = acme.get(f"{REFUNDS}?sort={sort}&limit=1{cursor}&include[]=total_count")
        walked += [row["id"] for row in page["data"]]
        assert page["total_count"] == len(made)
        if not page["has_more"]:
            break
        cursor = f"&starting_after={walked[-1]}"

    assert walked == whole


def test_payment_and_attempt_are_expanded(made: dict[str, str], acme: ApiClient) -> None:
    refund_id = made["all"]
    plain = acme.refunded(refund_id)

    one = acme.get(f"{REFUNDS}/{refund_id}?expand[]=payment_intent.latest_attempt&expand[]=attempt")
    many = acme.get(f"{REFUNDS}?limit=4&expand[]=data.payment_intent")
    posted = acme.post(f"{REFUNDS}/{refund_id}", {"description": "Tea", "expand": ["attempt"]})

    payment = acme.payment(plain["payment_intent"]).body
    assert one["payment_intent"] == {**payment, "latest_attempt": one["attempt"]}
    assert one["attempt"]["id"] == plain["attempt"]
    assert many["data"][1]["payment_intent"] == payment
    assert posted["attempt"] == one["attempt"]


# --- Search -----------------------------------------------------------------------------------


def test_a_refund_is_found_by_its_id_and_its_payment_too(
    made: dict[str, str], acme: ApiClient, globex: ApiClient
) -> None:
    refund = acme.refunded(made["first"]).body
    paid = acme.payment(refund["payment_intent"]).body

    for path, found in (("/v1/payment_intents", [paid]), ("/v1/search", [refund, paid])):
        assert acme.get(f"{path}?q={refund['id']}")["data"] == found
        assert globex.get(f"{path}?q={refund['id']}")["data"] == []
        assert acme.get(f"{path}?q=re_unknown")["data"] == []
    assert refund not in acme.get(f"/v1/search?q={paid['id']}")["data"]


def test_a_search_expands_and_pages_refunds(made: dict[str, str], acme: ApiClient) -> None:
    query = f"/v1/search?q={made['first']}"

    first = acme.get(f"{query}&limit=1&expand[]=data.payment_intent&include[]=total_count")
    second = acme.get(f"{query}&limit=1&starting_after={made['first']}")

    assert (first["total_count"], first["has_more"], second["has_more"]) == (2, True, False)
    assert first["data"][0]["payment_intent"] == second["data"][0]


def test_a_key_that_may_not_read_refunds_finds_none(made: dict[str, str], acme: ApiClient) -> None:
    scoped = acme.with_scopes(refunds="none", payment_intents="read")

    for path in ("/v1/payment_intents", "/v1/search"):
        for unseen in ("", "%20", "%E2%80%8B", "%EF%BB%BF"):
            query = f"{path}?q={unseen}{made['first']}{unseen}"
            assert acme.get(query)["data"] != []
            assert scoped.get(query)["data"] == [], unseen
    cursor = scoped.get(f"/v1/search?q=x&starting_after={made['first']}")
    assert cursor.refusal == (404, "resource_missing", "starting_after")
