"""Examples in the documentation work when they are copied, and its links lead somewhere."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from acquirers.notices.tasks import take_in
from acquirers.sandbox import cards
from core import clock
from ledger.tasks import settle_due
from payments.installments import bin_files, sandbox_plans
from payments.installments.bin_files import Problems
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import limit, price
from tests.stage.client import ApiClient
from tests.stage.sweeper import sweep_after
from tests.stage.topups import awaited, come, come_after, sent, taken_back, top_up
from tests.stage.transfers import account, balance, hear_after, pay_out, rich

ROOT = settings.BASE_DIR
TESTS = ROOT / "tests" / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), TESTS, *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
ANCHORED = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")
CARD_NUMBER = re.compile(r"(?<!\d)\d{16}(?!\d)")
CREATION = re.compile(r"curl \S+/v1/payment_intents \\\n.*?-d '(\{.*?\})'", re.DOTALL)
SESSION = re.compile(r"curl \S+/v1/checkout/sessions .*?-d '(\{.*?\})'", re.DOTALL)
SANDBOX_CARDS = cards.NUMBERS


def missing_links(page: Path) -> list[str]:
    return [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert missing_links(page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("See [this](page.md#top), [that](nowhere.md) and [them](https://a.example).")

    assert missing_links(page) == ["nowhere.md"]


def headings(page: Path) -> set[str]:
    """Return the anchors of a page, as GitHub and the site make them of its headings."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    plain = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", one) for one in re.findall("^#+ (.+)$", prose, re.M)
    )
    return {re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-") for one in plain}


def dead_anchors(page: Path) -> list[str]:
    return [
        f"{link}#{anchor}"
        for link, anchor in ANCHORED.findall(page.read_text())
        if (target := page.parent / link if link else page).suffix == ".md"
        and anchor not in headings(target)
    ]


def test_anchors_are_there() -> None:
    tried = sum(len(ANCHORED.findall(page.read_text())) for page in PAGES)

    print(f"{tried} anchors")  # noqa: T201
    assert tried > 50
    assert {page.name: dead for page in PAGES if (dead := dead_anchors(page))} == {}


def test_an_anchor_that_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `name`, here\n[this](#a-name-here) [that](page.md#nowhere) [it](#top)\n")

    assert dead_anchors(page) == ["page.md#nowhere", "#top"]


def test_the_map_of_the_tests_names_files_that_are_there() -> None:
    folder, missing = "", []
    for place, name in re.findall(r"`([\w/]+/)?(test_\w+\*?\.py)`", TESTS.read_text()):
        folder = place or folder
        if not [*(TESTS.parent / folder).glob(name)]:
            missing.append(f"{folder}{name}")

    assert (missing, folder) == ([], "browser/")


def test_only_the_sandboxs_cards_are_named_and_their_page_names_them_all() -> None:
    named = {page: set(CARD_NUMBER.findall(page.read_text())) for page in PAGES}

    assert set().union(*named.values()) <= SANDBOX_CARDS
    assert named[ROOT / "docs/how-to/test-cards.md"] == SANDBOX_CARDS


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize(
    ("page", "status"),
    [("README.md", "succeeded"), ("docs/how-to/three-d-secure.md", "requires_action")],
)
def test_a_payment_that_is_shown_can_be_made(
    page: str, status: str, acme: ApiClient, bank: BankTransport
) -> None:
    [body] = CREATION.findall((ROOT / page).read_text())

    answer = acme.post("/v1/payment_intents", json.loads(body))

    assert (answer.status, answer["status"]) == (200, status)


@pytest.mark.django_db(databases=["default", "bank"])
def test_the_session_of_the_first_page_can_be_made(acme: ApiClient) -> None:
    [body] = SESSION.findall((ROOT / "README.md").read_text())

    made = acme.post("/v1/checkout/sessions", json.loads(body))

    assert (made.status, made["status"], made["amount_total"]) == (200, "open", 12500)


@pytest.mark.django_db(databases=["default", "bank"])
def test_a_payout_that_is_shown_can_be_made(acme: ApiClient, bank: BankTransport) -> None:
    page = (ROOT / "docs/how-to/payouts.md").read_text()
    [body] = re.findall(r"/v1/payouts \\\n.*?-d '(\{.*?\})'", page, re.DOTALL)
    shown = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])

    answer = rich(acme).post("/v1/payouts", json.loads(body))

    told = {"id", "arrival_date", "created"}
    assert list(answer.body) == list(shown)
    assert {name: answer[name] for name in shown if name not in told} == {
        name: value for name, value in shown.items() if name not in told
    }


@pytest.mark.django_db(databases=["default", "bank"])
def test_the_balance_goes_as_the_page_of_payouts_says(acme: ApiClient, bank: BankTransport) -> None:
    rich(acme, 100_000)
    said = re.findall(
        r"^\| [^|]+ \| (\d+) \| ", (ROOT / "docs/how-to/payouts.md").read_text(), re.MULTILINE
    )
    seen = []
    back = pay_out(acme, 5000, destination="test_bounced")
    seen.append(balance(acme))
    sweep_after(60)
    for _ in ("paid", "returned"):
        hear_after(3)
        seen.append(balance(acme))
    other = pay_out(acme, 20_000)
    seen.append(balance(acme))
    acme.post(f"/v1/payouts/{other['id']}/cancel")
    seen.append(balance(acme))

    assert [str(amount) for amount in seen] == said
    assert acme.get(f"/v1/payouts/{back['id']}")["failure_code"] == "account_closed"


@pytest.mark.django_db(databases=["default", "bank"])
def test_a_topup_that_is_shown_can_be_made(acme: ApiClient, bank: BankTransport) -> None:
    page = (ROOT / "docs/how-to/topups.md").read_text()
    [body] = re.findall(r"/v1/topups \\\n.*?-d '(\{.*?\})'", page, re.DOTALL)
    shown = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])

    answer = acme.post("/v1/topups", json.loads(body))

    told = {"id", "expected_availability_date", "created", "source"}
    assert list(answer.body) == list(shown)
    assert answer["source"].keys() == shown["source"].keys()
    assert {name: answer[name] for name in shown if name not in told} == {
        name: value for name, value in shown.items() if name not in told
    }


@pytest.mark.django_db(databases=["default", "bank"])
def test_the_balance_goes_as_the_page_of_topups_says(acme: ApiClient, bank: BankTransport) -> None:
    account(acme.merchant)
    said = re.findall(
        r"^\| [^|]+ \| (−?\d+) \| ", (ROOT / "docs/how-to/topups.md").read_text(), re.MULTILINE
    )
    seen = []
    made = awaited(acme, 50_000)
    seen.append(balance(acme))
    reference = sent(made["source"]["reference"], 50_000)
    seen.append(balance(acme))
    pay_out(acme, 20_000)
    seen.append(balance(acme))
    taken_back(reference)
    seen.append(balance(acme))

    assert [str(amount).replace("-", "−") for amount in seen] == said


@pytest.mark.django_db(databases=["default", "bank"])
def test_a_refund_that_is_shown_can_be_made(acme: ApiClient, bank: BankTransport) -> None:
    page = (ROOT / "docs/how-to/refunds.md").read_text()
    [body] = re.findall(r"/v1/refunds \\\n.*?-d '(\{.*?\})'", page, re.DOTALL)
    shown = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])
    paid = acme.pay()

    answer = acme.post("/v1/refunds", {**json.loads(body), "payment_intent": paid["id"]})

    told = {"id", "payment_intent", "attempt", "reference", "created"}
    assert list(answer.body) == list(shown)
    assert {name: answer[name] for name in shown if name not in told} == {
        name: value for name, value in shown.items() if name not in told
    }


@pytest.mark.django_db(databases=["default", "bank"])
def test_a_quote_that_is_shown_is_given_and_can_be_paid(
    acme: ApiClient, bank: BankTransport
) -> None:
    page = (ROOT / "docs/how-to/installments.md").read_text()
    sandbox_plans.give(acme.merchant)
    address = re.search(r"curl '\S+?(/v1/installments\S+)'", page)[1]
    shown = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])
    [body] = CREATION.findall(page)

    assert acme.get(address).body == shown
    paid = acme.post("/v1/payment_intents", json.loads(body))

    amounts = [paid[name] for name in ("surcharge", "amount_charged", "amount_received")]
    assert (paid["status"], amounts) == ("succeeded", [330, 12_330, 12_000])


def test_the_table_that_is_shown_is_taken() -> None:
    page = (ROOT / "docs/how-to/installments.md").read_text()
    table = re.search(r"```csv\n(.*?)```", page, re.DOTALL)[1]
    problems = Problems()

    found = list(bin_files.rows(BytesIO(table.encode()), problems))

    assert (len(found), problems.first) == (2, [])


SANDBOX_REFUND = re.compile(r"^\| (\d{16}) \| (.*) \|$", re.MULTILINE)


@pytest.mark.django_db(databases=["default", "bank"])
def test_the_cards_of_refunds_do_what_is_said(acme: ApiClient, bank: BankTransport) -> None:
    ended = {"4242424242424242": "succeeded", "4000001100000074": "failed",
             "4000000000007726": "succeeded", "4000000000005126": "failed"}  # fmt: skip
    listed = dict(SANDBOX_REFUND.findall((ROOT / "docs/how-to/refunds.md").read_text()))
    assert listed.keys() == ended.keys()

    made = {card: acme.refund(acme.pay(card)["id"])["id"] for card in listed}
    sweep_after(10)

    assert {card: acme.refunded(one)["status"] for card, one in made.items()} == ended


@pytest.mark.django_db(databases=["default", "bank"])
def test_the_balance_goes_as_its_page_says(acme: ApiClient, bank: BankTransport) -> None:
    page = (ROOT / "docs/reference/balance.md").read_text()
    said = re.findall(r"^\| (.+?) \| (-?\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    price(acme.merchant)
    limit(acme.merchant, 100_000)
    account(acme.merchant)
    begin_at_noon()
    steps = balance_steps(acme)

    for then, *amounts in said:
        next(steps)
        seen = [str(balance(acme, kind)) for kind in ("available", "pending", "reserved")]
        assert (then, seen) == (then, amounts)

    assert next(steps, "the end") == "the end"
    rows = acme.get("/v1/balance_transactions?limit=100")["data"]
    assert sum(row["net"] for row in rows) == balance(acme) + balance(acme, "pending")


def balance_steps(shop: ApiClient) -> Iterator[None]:
    paid = shop.pay(amount=10_000)["id"]
    yield
    shop.pay(amount=5_000)
    yield
    clock.advance(timedelta(days=5))  # Some of them may be no business days.
    settle_due()
    yield
    shop.refund(paid, 4_000)
    yield
    pay_out(shop, 10_000)
    yield
    call_command("bank", "dispute", paid, stdout=StringIO())
    take_in()
    yield
    top_up(shop, 6_000)
    come()
    come_after(5)
    yield
    [dispute] = shop.get("/v1/disputes")["data"]
    call_command("bank", "win", dispute["id"], stdout=StringIO())
    take_in()
    yield
