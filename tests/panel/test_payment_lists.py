"""The lists of payments, refunds and disputes in the panel: the API's own, for people."""

import re
import shlex
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import translation

from core import money
from core.rest import lists
from panel.merchants import listing
from panel.patience import TookTooLong
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, PaymentFactory, payment
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LAST_NOON = 253_402_257_600  # 9999-12-31, 12:00 UTC.
LINK = re.compile(r'href="/panel/\w+/payments/(pi_\w+)"')


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(acme: ApiClient, *parts: str) -> str:
    return "/".join([f"/panel/{acme.merchant.id}", *parts])


def listed(client: Client, acme: ApiClient, query: Any) -> list[str]:
    in_turkish = {"Accept-Language": "tr"}
    page = client.get(at(acme, "payments"), query, follow=True, headers=in_turkish)
    assert page.status_code == 200
    return LINK.findall(page.content.decode())


def test_payments_are_those_of_the_api_in_its_order(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    for number in range(30):
        sums = dict.fromkeys(("amount", "authorized_minor", "captured_minor"), 12500 + number)
        PaymentFactory(merchant=acme.merchant, description=f"Order {number}", **sums)
    PaymentFactory(merchant=globex.merchant)
    for query in ("sort=-created", "amount[gte]=12510", "status[]=succeeded", "sort=amount"):
        shown = acme.get(f"/v1/payment_intents?limit=25&{query}")["data"]

        page = owner.get(f"{at(acme, 'payments')}?{query}")

        assert LINK.findall(page.content.decode()) == [one["id"] for one in shown], query
    assert ">30 rows<" in owner.get(at(acme, "payments")).content.decode()


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"amount_from": "125,00", "amount_to": ""}, 3),
        ({"amount_from": "125,01"}, 2),
        ({"amount_from": "1.250,00"}, 1),
        ({"amount_to": "₺125,00"}, 1),
        ({"created_from": "2050-01-01"}, 0),
        ({"created_to": "2050-01-01"}, 3),
        ({"q": "sipar"}, 1),
        ({"q": "Sipariş #7"}, 1),
        ({"metadata_key": "order", "metadata_value": "7"}, 1),
        ({"status[]": ["succeeded", "processing"]}, 3),
        ({"status[]": ["canceled"]}, 0),
        ({"currency": "try", "capture_method": "automatic"}, 3),
        ({"currency": "usd", "amount_from": "1,00"}, 0),
    ],
)
def test_inputs_of_people_become_the_apis_parameters(
    owner: Client, acme: ApiClient, query: dict[str, Any], count: int
) -> None:
    for amount in (12500, 20000, 125000):
        PaymentFactory(
            merchant=acme.merchant, amount=amount, authorized_minor=amount, captured_minor=amount
        )
    body = payment(GOOD_CARD, description="Sipariş #7", metadata={"order": "7"}, amount=12600)
    if "q" in query or "metadata_key" in query:
        acme.post("/v1/payment_intents", body)

    assert len(listed(owner, acme, query)) == count


def test_the_address_is_the_apis_query_and_the_form_shows_it_again(
    owner: Client, acme: ApiClient
) -> None:
    sent = {"amount_from": "125.50", "created_from": "2026-01-31", "q": "", "customer": ""}
    sent |= {"metadata_key": "order", "metadata_value": "7", "starting_after": "pi_gone"}

    led = owner.get(at(acme, "payments"), sent)
    page = owner.get(led.url).content.decode()

    assert led.url.partition("?")[2] == (
        "created%5Bgte%5D=1769806800&amount%5Bgte%5D=12550&metadata%5Border%5D=7"
    )
    for value in ("125.50", "2026-01-31", "order", "7"):
        assert f'value="{value}"' in page
    assert "/v1/payment_intents?created%5Bgte%5D=1769806800&amp;amount" in page


@pytest.mark.parametrize(("told_to", "sorted_to"), [(3, 3), (3, 30_000), (10_000, 30_000)])
def test_a_search_pages_in_both_directions_and_is_counted(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch, told_to: int, sorted_to: int
) -> None:
    monkeypatch.setattr(lists, "TOTAL_MAX", told_to)
    monkeypatch.setattr(listing, "SORTED_MOST", sorted_to)
    for number in range(60):
        PaymentFactory(merchant=acme.merchant, description=f"Order 77{number % 2}")
    api = acme.get("/v1/payment_intents?q=order%20770&limit=100").body["data"]
    ids = [row["id"] for row in api]

    first = listed(owner, acme, {"q": "Order 770"})
    second = listed(owner, acme, {"q": "Order 770", "starting_after": first[-1]})
    back = listed(owner, acme, {"q": "Order 770", "ending_before": second[0]})
    page = owner.get(at(acme, "payments"), {"q": "Order 770"}).context["page"]

    assert (len(ids), first + second, back) == (30, ids, first)
    assert page.total_count == min(30, told_to + 1)


def test_a_search_that_is_not_counted_in_time_shows_its_rows(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    PaymentFactory(merchant=acme.merchant, description="Order 770")

    def take_too_long(*_: Any, **_options: Any) -> int:
        raise TookTooLong

    monkeypatch.setattr(lists, "total", take_too_long)
    page = owner.get(at(acme, "payments"), {"q": "order"}).context["page"]

    assert (len(page.rows), page.total_count) == (1, None)


@pytest.mark.parametrize("text", ["1,25", "1.250,00", "1e3", "-1", "٣", "1" * 13, "1.005", "x"])
def test_an_amount_that_is_none_is_refused_at_its_input(
    owner: Client, acme: ApiClient, text: str
) -> None:
    PaymentFactory(merchant=acme.merchant)

    page = owner.get(at(acme, "payments"), {"amount_from": text})

    assert page.status_code == 400
    assert list(page.context["form"].errors) == ["amount_from"]
    assert LINK.findall(page.content.decode()) == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status[]=none", "status[]"),
        ("status=none", "status[]"),
        ("currency=x", "currency"),
        ("capture_method=x", "capture_method"),
        ("customer=cus_x", "customer"),
        ("amount[gte]=x", "amount_from"),
        ("created[gte]=x", "created_from"),
        ("created_from=2026-02-30", "created_from"),
        ("created_from=0001-01-01", "created_from"),
        ("created_from=2026-02-02&created_to=2026-02-01", "created_to"),
        ("metadata[a][b]=x", "metadata_key"),
        ("metadata_key=a", "metadata_key"),
        ("starting_after=pi_x", "__all__"),
        ("starting_after=pi_x&ending_before=pi_y", "__all__"),
        ("sort=name", "sort"),
        (f"q={'x' * 256}", "q"),
        (f"q={GOOD_CARD}", "__all__"),
    ],
)
def test_a_refusal_stands_at_its_input_without_rows(
    owner: Client, acme: ApiClient, query: str, field: str
) -> None:
    PaymentFactory(merchant=acme.merchant)

    page = owner.get(f"{at(acme, 'payments')}?{query}")

    assert page.status_code == 400
    assert list(page.context["form"].errors) == [field]
    assert LINK.findall(page.content.decode()) == []
    assert GOOD_CARD not in page.content.decode()


@pytest.mark.parametrize("query", ["limit=1e9", "merchant=x&expand[]=y", "include[]=all"])
def test_what_the_page_does_not_know_is_ignored(owner: Client, acme: ApiClient, query: str) -> None:
    row = PaymentFactory(merchant=acme.merchant)

    page = owner.get(f"{at(acme, 'payments')}?{query}")

    assert LINK.findall(page.content.decode()) == [row.id]


def test_a_parameter_without_an_input_is_shown_and_kept(owner: Client, acme: ApiClient) -> None:
    page = owner.get(f"{at(acme, 'payments')}?amount[gt]=5").content.decode()

    assert '<input type="hidden" name="amount[gt]" value="5">' in page


@pytest.mark.usefixtures("bank")
def test_no_payment_yet_shows_a_call_that_makes_one(owner: Client, acme: ApiClient) -> None:
    page = owner.get(at(acme, "payments"))
    words = shlex.split(page.context["first_call"].replace("\\\n", " "))
    fields = [
        tuple(words[place + 1].split("=", 1)) for place, one in enumerate(words) if one[0] == "-"
    ]
    body = urlencode([one for one in fields if len(one) == 2])
    headers = {
        "authorization": f"Bearer {acme.key}",
        "content-type": "application/x-www-form-urlencoded",
    }
    made = acme.send("POST", "/v1/payment_intents", body.encode(), headers)

    assert "Make your first test payment" in page.content.decode()
    assert made["status"] == "succeeded"
    assert listed(owner, acme, {}) == [made["id"]]


def test_stored_text_is_shown_as_text(owner: Client, acme: ApiClient) -> None:
    PaymentFactory(merchant=acme.merchant, description='<script>x</script>"><img onerror=x>')

    page = owner.get(at(acme, "payments")).content.decode()

    assert "<script>x" not in page
    assert "<img onerror" not in page


def test_what_is_typed_is_read_back() -> None:
    for language in ("en", "tr"):
        with translation.override(language):
            for currency in ("try", "jpy", "kwd"):
                for amount in (0, 1, 99, 100, 12345, 125000, 999_999_999_999):
                    assert money.read(money.typed(amount, currency), currency) == amount


def test_a_day_after_the_last_one_that_there_is_is_refused(owner: Client, acme: ApiClient) -> None:
    query = f"created_from=2020-01-01&created[lt]={LAST_NOON}"

    page = owner.get(f"{at(acme, 'payments')}?{query}", follow=True)

    assert page.status_code == 400
