"""Search finds by ids, exact e-mails and the start of a description, and nothing by less."""

from urllib.parse import quote

import pytest

from merchants import keys
from payments.customers.models import Customer
from payments.intents import search
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import payment_method

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS = "/v1/payment_intents"


def make(client: ApiClient, description: str | None = None, **facts: object) -> str:
    body = {"amount": 100, "currency": "try", "description": description, **facts}
    return client.post(PAYMENTS, body)["id"]


def searched(client: ApiClient, text: str, path: str = PAYMENTS) -> list[str]:
    answer = client.get(f"{path}?q={quote(text)}")
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer["data"]]


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("Çay ve IHLAMUR 100%_\\ x", True),
        ("çAY VE ıhlamur".replace("ı", "i"), True),
        ("  çay ", True),
        ("ç", True),
        ("CAY VE IHLAMUR", True),
        ("çay ve ıhlamur", True),
        ("ÇAY VE İHLAMUR", True),
        ("\u00a0\u200bÇay ve\u200b", True),
        ("ve", False),
        ("Çay  ve", False),
        ("%", False),
        ("Çay ve Ihlamur 100_", False),
        ("Çay ve Ihlamur 100%\\", False),
        ("Çay ve Ihlamur 100%_\\", True),
        ("__", False),
    ],
)
def test_a_description_is_found_by_its_start_in_any_case(
    acme: ApiClient, text: str, is_found: bool
) -> None:
    tea = make(acme, "Çay ve Ihlamur 100%_\\ x")
    make(acme)

    assert searched(acme, text) == ([tea] if is_found else [])


@pytest.mark.parametrize(
    ("description", "texts"),
    [
        ("İSTANBUL'dan ISIRGAN çayı", ["istanbul", "ISTANBUL", "ıstanbul'DAN ısırgan CAYI"]),
        ("istanbul", ["İSTANBUL", "Istan", "i\u0307stanbul"]),
        ("ışık ŞÖLENİ", ["ISIK", "isik", "IŞIK şöleni", "işik solenı"]),
        ("Güneş öğle âşık", ["gunes ogle âsik", "GÜNEŞ ÖĞLE ÂŞIK"]),
        ("\u00a0 \tSipariş 1001 ", ["siparis", "  SİPARİŞ 1001  "]),
        ("\ufeffOrder 7", ["order 7", "\u200bORDER"]),
    ],
)
def test_turkish_letters_are_folded_on_both_sides(
    acme: ApiClient, description: str, texts: list[str]
) -> None:
    one = make(acme, description)
    make(acme, "Sgn 1")

    for text in (description, *texts):
        assert searched(acme, text) == searched(acme, text, "/v1/search") == [one], text


def test_a_long_description_is_found_by_its_first_255_characters(acme: ApiClient) -> None:
    long = make(acme, "İ" * 1000)

    assert searched(acme, "İ" * 255) == [long]
    assert searched(acme, "j" + "İ" * 200) == []


def test_a_payment_is_found_by_its_ids(acme: ApiClient, bank: BankTransport) -> None:
    customer = acme.post("/v1/customers")["id"]
    paid = acme.pay(customer=customer)
    make(acme)

    for text in (paid["id"], paid["latest_attempt"], customer):
        assert searched(acme, text) == [paid["id"]]


@pytest.mark.parametrize(
    "text", ["pi_unknown", "att_unknown", "cus_unknown", "re_unknown", "dp_unknown", "pi_", "x_y"]
)
def test_an_id_that_is_none_finds_nothing(acme: ApiClient, text: str) -> None:
    make(acme, "Tea")

    assert searched(acme, text) == searched(acme, text, "/v1/search") == []


def test_a_foreign_id_finds_nothing(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    customer = acme.post("/v1/customers", {"email": "ayse@example.com"})["id"]
    paid = acme.pay(customer=customer, description="Tea")

    for text in (paid["id"], paid["latest_attempt"], customer, "ayse@example.com", "Tea"):
        assert searched(globex, text) == searched(globex, text, "/v1/search") == []


def test_a_payment_is_found_by_an_exact_address(acme: ApiClient, bank: BankTransport) -> None:
    customer = acme.post("/v1/customers", {"email": "Ali@Example.com"})["id"]
    theirs = make(acme, customer=customer)
    billed = acme.pay()["id"]
    kept = make(acme, payment_method_data=payment_method())
    described = make(acme, "ayse@example.com, table 4")

    assert searched(acme, "aLI@example.COM") == [theirs]
    assert searched(acme, "AYSE@example.com") == [described, kept, billed]
    assert searched(acme, "ayse@example.co") == [described]
    assert searched(acme, "@example.com") == []


@pytest.mark.parametrize(
    "text",
    [
        "AYSE@münchen.example",
        "ayse@MÜNCHEN.example",
        "Ayse@xn--mnchen-3ya.example",
        " ayse@mu\u0308nchen.example ",
    ],
)
def test_an_address_is_found_by_any_spelling_of_its_domain(
    acme: ApiClient, bank: BankTransport, text: str
) -> None:
    spelled = ["ayse@MÜNCHEN.example", "ayse@xn--mnchen-3ya.example"]
    people = [acme.post("/v1/customers", {"email": one}) for one in spelled]
    billed = [
        make(acme, payment_method_data=payment_method() | {"billing_details": {"email": one}})
        for one in spelled
    ]

    assert [one["email"] for one in people] == spelled
    assert set(searched(acme, text)) == {*billed}
    everything = {*billed, *(one["id"] for one in people)}
    assert set(searched(acme, text, "/v1/search")) == everything
    found = acme.get(f"/v1/customers?email={quote(text)}")["data"]
    assert [one["id"] for one in found] == [one["id"] for one in reversed(people)]


def test_a_stored_address_of_other_letters_is_compared_as_it_is(acme: ApiClient) -> None:
    ids = [acme.post("/v1/customers", {"email": f"k{one}@example.com"})["id"] for one in "ab"]
    for old, new in zip(ids, ("\u212aate@example.com", "kate@example.com"), strict=True):
        customer = Customer.objects.get(id=old)
        customer.email = new  # As it was stored under an earlier rule.
        customer.save()

    assert searched(acme, "KATE@example.com", "/v1/search") == [ids[1]]
    assert searched(acme, "\u212aATE@example.com", "/v1/search") == [ids[0]]
    renamed = acme.post(f"/v1/customers/{ids[0]}", {"name": "Kate"})
    assert (renamed.status, renamed["email"]) == (200, "\u212aate@example.com")


def test_of_very_many_customers_of_an_address_the_newest_are_looked_at(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "CUSTOMERS_MAX", 2)
    for _ in range(3):
        customer = acme.post("/v1/customers", {"email": "ali@example.com"})["id"]
        make(acme, customer=customer)

    assert len(searched(acme, "ali@example.com")) == 2


def test_what_is_searched_can_be_filtered_sorted_and_paged(acme: ApiClient) -> None:
    tea = [make(acme, f"Tea {n}", amount=100 + n % 2) for n in range(4)]
    make(acme, "Coffee")

    answer = acme.get(
        f"{PAYMENTS}?q=tea&sort=-amount&limit=2&include[]=total_count&starting_after={tea[3]}"
    )
    odd = acme.get(f"{PAYMENTS}?q=tea&amount=101")

    assert [row["id"] for row in answer["data"]] == [tea[1], tea[2]]
    assert (answer["total_count"], answer["has_more"]) == (4, True)
    assert [row["id"] for row in odd["data"]] == [tea[3], tea[1]]


# --- Everything at once -----------------------------------------------------------------------


@pytest.fixture
def mixed(acme: ApiClient, bank: BankTransport) -> list[str]:
    """Customers and payments of one address, newest first."""
    address = {"email": "ayse@example.com"}
    rows = []
    for _ in range(2):
        rows += [acme.post("/v1/customers", address)["id"], acme.pay()["id"]]
    return rows[::-1]


def test_the_whole_search_shows_objects_of_all_types_newest_first(
    acme: ApiClient, mixed: list[str]
) -> None:
    answer = acme.get("/v1/search?q=AYSE@example.com&include[]=total_count")

    assert [row["id"] for row in answer["data"]] == mixed
    assert (answer["url"], answer["total_count"]) == ("/v1/search", 4)
    assert answer["data"][0] == acme.payment(mixed[0]).body
    assert answer["data"][1] == acme.get(f"/v1/customers/{mixed[1]}").body


def test_the_whole_search_is_paged_by_ids_of_any_type(acme: ApiClient, mixed: list[str]) -> None:
    path = "/v1/search?q=ayse@example.com&limit=1"

    for before, cursor, after in zip(mixed, mixed[1:], mixed[2:], strict=False):
        [next_one] = acme.get(f"{path}&starting_after={cursor}")["data"]
        [previous] = acme.get(f"{path}&ending_before={cursor}")["data"]
        assert (previous["id"], next_one["id"]) == (before, after)
    upward = acme.get("/v1/search?q=ayse@example.com&sort=created")["data"]
    assert [row["id"] for row in upward] == mixed[::-1]


def test_a_customers_id_finds_it_and_its_payments(acme: ApiClient) -> None:
    customer = acme.post("/v1/customers")["id"]
    theirs = make(acme, customer=customer)

    assert searched(acme, customer, "/v1/search") == [theirs, customer]


def test_a_search_finds_only_what_its_key_may_read(acme: ApiClient, mixed: list[str]) -> None:
    def with_scopes(**scopes: str) -> ApiClient:
        return acme.twin(keys.create(acme.merchant, name="some", scopes=scopes)[1])

    without_customers = with_scopes(customers="none", payment_intents="read")
    without_payments = with_scopes(payment_intents="none")

    assert searched(without_customers, "ayse@example.com", "/v1/search") == mixed[::2]
    cursor = without_customers.get(f"/v1/search?q=x&starting_after={mixed[1]}")
    assert cursor.refusal == (404, "resource_missing", "starting_after")
    for path in ("/v1/search?q=x", PAYMENTS):
        assert without_payments.get(path).refusal == (403, "permission_denied", None)


@pytest.mark.parametrize("text", ["order 4242", "4242 4242 4242 4241", "a4242424242424242"])
def test_other_digits_are_searched_for(acme: ApiClient, text: str) -> None:
    tea = make(acme, f"{text[:12]} tea")

    assert searched(acme, text[:12]) == [tea]
    assert searched(acme, text) in ([tea], [])
