"""Request logs in the panel: the list, its filters, and the way to one request by its id."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core import clock, ids
from core.rest import lists
from merchants.models import Merchant, RequestLog
from panel.merchants import request_logs as view
from panel.patience import TookTooLong
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, RequestLogFactory
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

HTMX = {"HX-Request": "true"}


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def place(acme: ApiClient, query: str = "") -> str:
    return f"/panel/{acme.merchant.id}/request_logs{query}"


def made(acme: ApiClient, **fields: Any) -> RequestLog:
    return RequestLogFactory(merchant=acme.merchant, **fields)


def shown(answer: Any) -> list[str]:
    return [row.id for row in answer.context["page"].rows]


def test_the_newest_requests_stand_first_twenty_five_at_a_time(
    owner: Client, acme: ApiClient
) -> None:
    now = clock.now()
    rows = [made(acme, created_at=now - timedelta(seconds=n)).id for n in range(60)]

    first = owner.get(place(acme))
    second = owner.get(place(acme, f"?starting_after={rows[24]}"))
    back = owner.get(place(acme, f"?ending_before={rows[25]}"))

    assert shown(first) == shown(back) == rows[:25]
    assert shown(second) == rows[25:50]
    assert first.context["page"].total_count == 60
    assert ("Newer" in first.content.decode(), "Older" in first.content.decode()) == (False, True)
    assert all(word in second.content.decode() for word in ("Newer", "Older"))


@pytest.mark.parametrize(
    "query",
    [
        "status=404", "status=4xx", "method=DELETE", "path=/v1/customers/cus_x",
        "path=/v1/customers/{id}", "object_id=cus_x", "api_key=key_x", "idempotency_key=order 7",
        "error_code=resource_missing", "kind=job", "created[lt]=1000000000",
        "status=404&method=DELETE&kind=job", "object_id=+cus_x+&status=",
    ],
)  # fmt: skip
def test_a_filter_of_the_api_narrows_the_list(owner: Client, acme: ApiClient, query: str) -> None:
    made(acme, status=500)
    wanted = made(
        acme, status=404, method="DELETE", path="/v1/customers/cus_x", object_id="cus_x",
        api_key="key_x", idempotency_key="order 7", error_code="resource_missing", kind="job",
        created_at=datetime.fromtimestamp(999_999_999, UTC),
    )  # fmt: skip

    answer = owner.get(place(acme, f"?{query}"), follow=True)

    assert shown(answer) == [wanted.id]
    if "created" not in query:
        [found] = acme.get(f"/v1/request_logs?{query}".replace("+", "").replace(" ", "%20")
                           .removesuffix("&status="))["data"]  # fmt: skip
        assert found["id"] == wanted.id


def test_days_become_whole_days_of_the_merchants_zone(owner: Client, acme: ApiClient) -> None:
    form = {"created_from": "2026-11-21", "created_to": "2026-11-22", "status": "", "method": ""}

    answer = owner.get(place(acme), form)
    asked = parse_qs(urlsplit(answer.url).query)

    # Istanbul is three hours ahead.
    begin = int(datetime(2026, 11, 20, 21, tzinfo=UTC).timestamp())
    assert answer.status_code == 302
    assert asked == {"created[gte]": [str(begin)], "created[lt]": [str(begin + 2 * 86_400)]}
    page = owner.get(answer.url)
    assert 'value="2026-11-21"' in page.content.decode()
    assert 'value="2026-11-22"' in page.content.decode()


def test_a_day_may_begin_at_one_oclock(owner: Client, acme: ApiClient) -> None:
    # In Santiago the clocks go from Saturday's end to 01:00 of this Sunday.
    Merchant.objects.filter(pk=acme.merchant.pk).update(timezone="America/Santiago")
    form = {"created_from": "2026-09-06", "created_to": "2026-09-05"}

    begins = owner.get(place(acme), {"created_from": form["created_from"]})
    ends = owner.get(place(acme), {"created_to": form["created_to"]})

    at = int(datetime(2026, 9, 6, 4, tzinfo=UTC).timestamp())
    assert parse_qs(urlsplit(begins.url).query) == {"created[gte]": [str(at)]}
    assert parse_qs(urlsplit(ends.url).query) == {"created[lt]": [str(at)]}
    assert 'value="2026-09-06"' in owner.get(begins.url).content.decode()
    assert 'value="2026-09-05"' in owner.get(ends.url).content.decode()
    two = owner.get(place(acme, f"?created[gte]={at + 3600}")).content.decode()
    assert f'name="created[gte]" value="{at + 3600}"' in two


def test_an_instant_that_is_no_day_stays_and_is_shown(owner: Client, acme: ApiClient) -> None:
    page = owner.get(place(acme, "?created[gte]=1794000001")).content.decode()

    assert 'name="created[gte]" value="1794000001"' in page
    assert "21:20:01" not in page or "2026" in page


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=abc", "status"), ("status=1e9", "status"), ("status=400&status=404", "status"),
        ("method=get", "method"), ("kind=x", "kind"), ("created_from=yesterday", "created_from"),
        ("created_from=0001-01-01", "created_from"), ("created_to=9999-12-31", "created_to"),
        ("created_from=2026-11-22&created_to=2026-11-21", "created_to"),
        ("created[gte]=x", "created_from"), ("created[lt]=-1", "created_to"),
        ("created[foo]=1", "created_from"), (f"path={'x' * 7000}", "path"),
        (f"idempotency_key={'y' * 7000}", "idempotency_key"), ("object_id[]=a", "object_id"),
    ],
)  # fmt: skip
def test_a_refusal_stands_at_its_input_and_no_rows_are_shown(
    owner: Client, acme: ApiClient, query: str, field: str
) -> None:
    made(acme)

    answer = owner.get(place(acme, f"?{query}"))
    turkish = owner.get(place(acme, f"?{query}"), headers={"Accept-Language": "tr"})

    assert answer.status_code == 400
    assert [*answer.context["form"].errors] == [field]
    assert 'aria-invalid="true"' in answer.content.decode()
    assert "<table" not in answer.content.decode()
    [reason] = answer.context["form"].errors[field]
    assert reason in answer.content.decode()
    assert reason not in turkish.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        "limit=1e9", "limit=101", "starting_after=req_x", "starting_after=a&ending_before=b",
        "sort=status", "include[]=x", "starting_after=%FF", "include[][]=total_count",
    ],
)  # fmt: skip
def test_a_place_that_there_is_not_is_refused_in_words(
    owner: Client, acme: ApiClient, query: str
) -> None:
    answer = owner.get(place(acme, f"?{query}"))

    assert answer.status_code == 400
    assert "This place of the list is gone." in answer.content.decode()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("path=%00", 404), ("path=%FF%FE", 200), ("%FF=1", 200), ("no_such=1", 200), ("q=x", 200),
        ("path=%3Cscript%3Ealert(1)%3C/script%3E", 200), ("request_id=", 302),
        ("request_id=%20%20", 302), ("path=(%7Bid%7D%5B%5C", 200), ("&&&===", 200),
    ],
)  # fmt: skip
def test_odd_text_breaks_nothing(owner: Client, acme: ApiClient, query: str, status: int) -> None:
    answer = owner.get(place(acme, f"?{query}"))

    assert answer.status_code in {status, 200}
    assert "<script>alert" not in answer.content.decode()


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("name", ["path", "request_id", "object_id", "nothing"])
@pytest.mark.parametrize("secret", [GOOD_CARD, "4242 4242 4242 4242", "the key"])
def test_a_card_and_a_key_are_refused_and_never_repeated(
    owner: Client, acme: ApiClient, name: str, secret: str
) -> None:
    secret = acme.key if secret == "the key" else secret

    answer = owner.get(place(acme), {name: secret})

    assert answer.status_code == 400
    assert secret not in answer.content.decode()
    assert "<table" not in answer.content.decode()


def test_a_whole_id_of_mine_leads_to_its_page(owner: Client, acme: ApiClient) -> None:
    row = made(acme)

    answer = owner.get(place(acme), {"request_id": f"  {row.id}\t"})

    assert (answer.status_code, answer.url) == (302, place(acme, f"/{row.id}"))
    assert owner.get(answer.url).status_code == 200


def test_any_other_id_reads_alike(owner: Client, acme: ApiClient, globex: ApiClient) -> None:
    made(acme)
    foreign = RequestLogFactory(merchant=globex.merchant).id
    nobodys = RequestLogFactory(merchant=None).id
    odd = [ids.new("req"), "req_", "x", "<b>", "pi_x", "y" * 5000, "%", "ﷺ"]

    answers = [owner.get(place(acme), {"request_id": one}) for one in (foreign, nobodys, *odd)]

    assert {answer.status_code for answer in answers} == {404}
    assert len({_alike(answer) for answer in answers}) == 1
    assert "kept for 30 days" in answers[0].content.decode()


def test_paths_of_others_are_shown_as_text(owner: Client, acme: ApiClient) -> None:
    made(acme, path='/v1/"><img onerror=alert(1)>', method="<b>", error_code="<i>")

    page = owner.get(place(acme)).content.decode()

    assert "<img onerror" not in page
    assert "&lt;img onerror" in page


def test_another_merchants_requests_are_in_no_list(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    RequestLogFactory(merchant=globex.merchant)
    RequestLogFactory(merchant=None)

    answer = owner.get(place(acme))

    assert shown(answer) == []
    assert "No request yet" in answer.content.decode()


# --- htmx -----------------------------------------------------------------------------------


def test_htmx_gets_the_list_alone(owner: Client, acme: ApiClient) -> None:
    made(acme)

    part = owner.get(place(acme, "?status=400"), headers=HTMX)

    assert part.content.decode().lstrip().startswith('<div id="requests">')
    assert "<html" not in part.content.decode()
    assert part["HX-Push-Url"] == place(acme, "?status=400")
    assert "HX-Request" in part["Vary"]


def test_for_htmx_a_refusal_is_the_form_and_the_list_stays(owner: Client, acme: ApiClient) -> None:
    made(acme)

    part = owner.get(place(acme, "?status=x"), headers=HTMX)

    assert part.status_code == 400
    assert part["HX-Retarget"] == "#filters"
    assert part.content.decode().lstrip().startswith("<form")
    assert 'aria-invalid="true"' in part.content.decode()
    assert "<table" not in part.content.decode()


# --- Speed ----------------------------------------------------------------------------------


def test_rows_that_take_too_long_are_given_up_in_words(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def over() -> Iterator[None]:
        yield
        raise TookTooLong

    def slow(*_: Any, **__: Any) -> None:
        raise TookTooLong

    monkeypatch.setattr(view, "limited", over)
    counted_too_long = owner.get(place(acme))
    monkeypatch.setattr(lists, "page", slow)
    took_too_long = owner.get(place(acme))

    assert counted_too_long.status_code == 200
    assert counted_too_long.context["page"].total_count is None
    assert took_too_long.status_code == 400
    assert "Narrow the time" in took_too_long.content.decode()


def test_a_statement_that_sleeps_is_canceled(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(*_: Any, **__: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(60)")

    monkeypatch.setattr(view.lists, "page", sleep)

    answer = owner.get(place(acme))

    assert answer.status_code == 400
    assert [*answer.context["form"].errors] == ["created_from"]


@pytest.mark.parametrize(
    "query", ["", "?status=400", "?path=/v1/payment_intents&status=4xx&created[gte]=1"]
)
def test_a_list_takes_as_few_statements_at_depth_and_never_an_offset(
    owner: Client, acme: ApiClient, query: str
) -> None:
    rows = [made(acme).id for _ in range(80)]
    joiner = "&" if query else "?"
    owner.get(place(acme))

    with CaptureQueriesContext(connection) as first:
        owner.get(place(acme, query))
    with CaptureQueriesContext(connection) as deep:
        owner.get(place(acme, f"{query}{joiner}starting_after={rows[20]}"))

    print(f"{query}: {len(first)} and {len(deep)} statements")  # noqa: T201
    # At depth one more: the page's own statements were fifteen before the navigation's counts.
    assert len(first) <= 15
    assert len(deep) <= 15 + 1
    assert not [one["sql"] for one in deep if "OFFSET" in one["sql"]]
    assert not [one["sql"] for one in deep if "request_body" in one["sql"]]


def _alike(answer: Any) -> str:
    page = answer.content.decode().replace(answer["Request-Id"], "")
    return page.split("<main", 1)[1].split("</main>", 1)[0]
