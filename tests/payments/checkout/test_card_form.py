"""The form of a payment page: all that is wrong is said at once, and no card is shown or kept."""

from collections import Counter
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from core import clock
from payments.checkout.models import CheckoutSession
from payments.intents.models import Attempt
from testbank import behaviours
from tests.stage.bank_transport import BankTransport
from tests.stage.books import row_counts
from tests.stage.checkouts import opened, session
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.lengths import length, tried
from tests.stage.payment_pages import CARD, FORM, TYPED, Payer
from vault import cvc as vault_cvc
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

LONG = "x" * 600


@pytest.fixture
def made(acme: ApiClient) -> Any:
    return opened(acme)


@pytest.fixture
def payer() -> Payer:
    return Payer()


NUMBER = "Check the card number: a digit is missing or wrong."
WRONG = [
    ({"number": ""}, NUMBER),
    ({"number": "4242424242424241"}, NUMBER),
    ({"number": "42424242424"}, NUMBER),
    ({"number": "42424242424242424242"}, NUMBER),
    ({"number": "4242a4242424242424"}, NUMBER),
    ({"number": "4012888888881881"}, "This is a sandbox."),
    ({"exp_month": "13"}, "Type the month"),
    ({"exp_month": "0"}, "Type the month"),
    ({"exp_month": ""}, "Type the month"),
    ({"exp_month": "1a"}, "Type the month"),
    ({"exp_month": "00"}, "Type the month"),
    ({"exp_month": GOOD_CARD}, "Type the month"),
    ({"exp_year": GOOD_CARD}, "Type the year"),
    ({"exp_year": ""}, "Type the year"),
    ({"exp_year": "2129"}, "Type the year"),
    ({"exp_year": "299"}, "Type the year"),
    ({"exp_month": "1", "exp_year": "20"}, "This card has expired."),
    ({"cvc": "12"}, "Type the security code: 3 digits."),
    ({"cvc": "1234"}, "Type the security code: 3 digits."),
    ({"cvc": "12345"}, "Type the security code: 3 digits."),
    ({"cvc": GOOD_CARD}, "Type the security code: 3 digits."),
    ({"cvc": "abc"}, "Type the security code: 3 digits."),
    ({"number": "371449635398431", "cvc": "123"}, "Type the security code: 4 digits"),
    ({"name": ""}, "Type the name on the card."),
    ({"name": LONG}, "This text is too long."),
    ({"name": "\u202eAyşe"}, "Type the name on the card."),
    ({"name": "123"}, "Type no card number"),
    ({"name": "4242"}, "Type no card number"),
    ({"email": "123"}, "Type no card number"),
    ({"line1": "123"}, "Type no card number"),
    ({"city": " 12 3"}, "Type no card number"),
    ({"name": "Ayşe 4242 4242 4242 4242"}, "Type no card number"),
    ({"email": ""}, "Type an e-mail address"),
    ({"email": "ayse"}, "Type an e-mail address"),
    ({"email": "4242424242424242@example.com"}, "Type no card number"),
    ({"line1": ""}, "Type your street"),
    ({"line1": LONG}, "This text is too long."),
    ({"line1": "4242-4242-4242-4242"}, "Type no card number"),
    ({"city": " "}, "Type your town"),
    ({"city": LONG}, "This text is too long."),
    ({"city": GOOD_CARD}, "Type no card number"),
    ({"postal_code": GOOD_CARD}, "Type no card number"),
    ({"country": GOOD_CARD}, "Type no card number"),
    ({"country": "XX"}, "Choose your country."),
    ({"country": ""}, "Choose your country."),
    ({"postal_code": "y" * 41}, "This text is too long."),
]


@pytest.mark.parametrize(("typed", "sentence"), WRONG)
def test_what_is_wrong_is_said_at_its_field(
    made: Any, payer: Payer, bank: BankTransport, typed: dict[str, str], sentence: str
) -> None:
    page = payer.press(payer.open(made["url"]), **typed)

    assert page.status == 400
    assert page.title.startswith("Error: ")
    assert page.text.count(sentence) == 2  # In the summary, and at the field.
    assert 'role="alert"' in page.source
    assert page.source.count("aria-invalid") == 1
    assert "4242424242424242" not in page.source
    assert "4242 4242 4242 4242" not in page.source.partition("<form")[2]
    assert Attempt.objects.count() == 0
    assert CheckoutSession.objects.get().tries == 0


def test_all_that_is_wrong_is_said_at_once(made: Any, payer: Payer) -> None:
    page = payer.press(payer.open(made["url"]), **dict.fromkeys(TYPED, ""))

    assert page.source.count("aria-invalid") == len(TYPED) - 1  # The postcode is optional.
    assert page.source.count('class="problem"') == len(TYPED) - 1


@pytest.mark.parametrize("name", [name for name in TYPED if name != "postal_code"])
def test_a_field_that_is_not_sent_is_asked_for(
    made: Any, payer: Payer, bank: BankTransport, name: str
) -> None:
    form = payer.open(made["url"])
    sent = form.filled()
    sent.pop(str(form.spelled(name)))

    page = payer.send(form.action, sent)

    assert (page.status, page.source.count("aria-invalid")) == (400, 1)
    assert Attempt.objects.count() == 0


def test_a_field_that_comes_twice_charges_nothing(
    made: Any, payer: Payer, bank: BankTransport
) -> None:
    form = payer.open(made["url"])
    sent = form.filled()

    statuses = {
        payer.send(form.action, urlencode([*sent.items(), (name, value)]).encode()).status
        for name, value in sent.items()
    }

    assert statuses == {400}
    assert Attempt.objects.count() == 0


def test_a_card_is_good_until_its_month_ends(acme: ApiClient, bank: BankTransport) -> None:
    payer, now = Payer(), clock.now()
    last = now.replace(day=1) - timedelta(days=1)

    pages = [
        payer.pay(opened(acme)["url"], exp_month=f"{day.month}", exp_year=f"{day:%y}")
        for day in (now, last)
    ]

    assert "Payment complete" in pages[0].text
    assert "This card has expired." in pages[1].text
    assert Attempt.objects.count() == 1


@pytest.mark.proof(part="fuzz")
def test_each_card_of_the_sandbox_leads_to_a_page_that_says_so(
    acme: ApiClient, bank: BankTransport
) -> None:
    cards = length(short=[*behaviours.CARDS][::8], full=[*behaviours.CARDS])
    statuses = Counter[int]()
    for number in cards:
        payer = Payer()
        made = opened(acme)
        pressed = payer.press(payer.open(made["url"]), number=number)
        assert pressed.status == 303, (number, pressed.text)
        page = payer.open(made["url"])
        statuses[page.status] += 1
        is_paid = acme.payment(made["payment_intent"])["status"] == "succeeded"
        assert ("Payment complete" in page.text) == is_paid, number

    tried(len(cards), f"cards of the sandbox, {dict(statuses)}")
    assert set(statuses) <= {200, 203}


@pytest.mark.parametrize("typed", [
    {"number": "4242 4242 4242 4242"}, {"number": "4242-4242-4242-4242"},
    {"number": "4242\u00a04242\u20094242\u20114242"}, {"number": "\uff14\uff12" * 8},
    {"number": "\u0664\u0662" * 8}, {"exp_month": "8"}, {"exp_month": "08"},
    {"exp_year": "2040"}, {"cvc": "\u0661\u0662\u0663"}, {"postal_code": ""}, {"country": "tr"},
])  # fmt: skip
def test_people_write_it_in_many_ways(
    made: Any, payer: Payer, bank: BankTransport, typed: dict[str, str]
) -> None:
    page = payer.follow(payer.press(payer.open(made["url"]), **typed))

    assert "Payment complete" in page.text


# --- Cards that are held ----------------------------------------------------------------------


def test_a_right_card_is_not_asked_again_when_another_field_is_wrong(
    made: Any, payer: Payer, bank: BankTransport
) -> None:
    page = payer.press(payer.open(made["url"]), email="")
    paid = payer.follow(payer.press(page))

    assert {page.spelled(name) for name in CARD} == {None}
    assert "Visa •••• 4242" in page.text
    assert "Payment complete" in paid.text
    assert SealedCard.objects.count() == 1


def test_a_held_card_whose_code_is_gone_is_asked_again(
    made: Any, payer: Payer, bank: BankTransport
) -> None:
    page = payer.press(payer.open(made["url"]), email="")
    vault_cvc.drop(CheckoutSession.objects.get().held_card)

    again = payer.press(page)

    assert "Type your card again." in again.text
    assert again.spelled("number") is not None
    assert Attempt.objects.count() == 0


def test_a_new_held_card_destroys_the_one_before(
    made: Any, payer: Payer, bank: BankTransport
) -> None:
    first = payer.press(payer.open(made["url"]), email="")
    payer.press(payer.open(made["url"]), email="", number="5555555555554444")

    refused = payer.press(first)

    assert sorted(card.is_destroyed for card in SealedCard.objects.all()) == [False, True]
    assert "Type your card again." in refused.text
    assert Attempt.objects.count() == 0


# --- Bodies -----------------------------------------------------------------------------------


def bodies(fields: dict[str, str]) -> dict[str, tuple[bytes, str, int]]:
    written = urlencode(fields).encode()
    name = next(name for name in fields if name.startswith("number_"))
    return {
        "multipart": (b"--a\r\n", "multipart/form-data; boundary=a", 415),
        "JSON": (b"{}", "application/json", 415),
        "another charset": (written, f"{FORM}; charset=iso-8859-9", 415),
        "17 KiB": (written + b"&x=" + b"y" * 17_408, FORM, 413),
        "broken UTF-8": (written + b"&x=%ff", FORM, 400),
        "a broken escape": (written + b"&x=%zz", FORM, 400),
        "a NUL": (written + b"&x=%00", FORM, 400),
        "the number twice": (written + f"&{name}={GOOD_CARD}".encode(), FORM, 400),
        "the name twice": (written + b"&name=a", FORM, 400),
        "nothing": (b"", FORM, 415),
    }


@pytest.mark.parametrize("case", bodies({"number_": ""}))
def test_a_body_that_is_no_form_charges_nothing(
    made: Any, payer: Payer, bank: BankTransport, case: str
) -> None:
    form = payer.open(made["url"])
    body, content_type, status = bodies(form.filled())[case]
    before = row_counts()

    page = payer.send(form.action, body, content_type)

    assert page.status == status
    assert page.spelled("number") is not None
    assert GOOD_CARD not in page.source
    assert row_counts() == before


def test_a_number_in_an_array_or_under_an_older_name_is_no_number(
    made: Any, payer: Payer, bank: BankTransport
) -> None:
    form = payer.open(made["url"])
    sent = {
        ("number[]" if name.startswith("number_") else name): value
        for name, value in form.filled().items()
    }

    page = payer.send(form.action, sent)

    assert NUMBER in page.text
    assert GOOD_CARD not in page.source


def test_the_cards_names_are_new_with_every_form(made: Any, payer: Payer) -> None:
    names = {payer.open(made["url"]).spelled(name) for name in CARD for _ in range(5)}

    assert len(names) == len(CARD) * 5


# --- Languages --------------------------------------------------------------------------------


def test_the_page_speaks_the_browsers_language_and_a_link_changes_it(
    made: Any, bank: BankTransport
) -> None:
    payer = Payer("tr-TR,tr;q=0.9,en;q=0.5")

    page = payer.open(made["url"])
    [link] = [link for link in page.links if "locale=en" in link]
    english = payer.open(link)
    wrong = payer.press(english, number="1")
    paid = payer.follow(payer.press(wrong))

    assert "₺125,00 öde" in page.text
    assert page.headers["Content-Language"] == "tr"
    assert "Türkiye" in page.text
    assert "Pay ₺125.00" in english.text
    assert "There is a problem" in wrong.text
    assert "Payment complete" in paid.text


def test_a_sessions_language_goes_before_the_browsers(acme: ApiClient) -> None:
    page = Payer("en").open(opened(acme, locale="tr")["url"])

    for words in ("Kart numarası", "Güvenlik kodu", "Posta kodu (isteğe bağlı)", "İl", "Ülke"):
        assert words in page.text


@pytest.mark.parametrize("locale", ["de", "", "tr-TR", "../en", GOOD_CARD[:4]])
def test_another_locale_is_none(made: Any, payer: Payer, locale: str) -> None:
    page = payer.open(f"{made['url']}?locale={locale}")

    assert "Card number" in page.text


# --- What the payer typed is nowhere ----------------------------------------------------------


def test_what_the_payer_typed_is_kept_with_the_attempt_alone(
    acme: ApiClient, made: Any, payer: Payer, bank: BankTransport
) -> None:
    payer.press(payer.open(made["url"]), number="1", line1="Gizli Sk. 77")

    assert "Gizli" not in str(list(CheckoutSession.objects.values()))
    assert session(acme, made["id"])["customer_details"] is None
