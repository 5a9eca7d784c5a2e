"""Topups: a reference to write into a transfer, and money that is available once it has come."""

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from acquirers.transfers import taking_in
from acquirers.transfers.models import TransferNotice
from core import clock
from core.errors import ParameterInvalid
from merchants import accounts
from merchants.models import Merchant
from payouts.topups import creation
from payouts.topups.models import IncomingTransfer, Topup
from tests.stage import described
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_days import begin_on_a_friday
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.topups import (
    TOPUPS,
    awaited,
    came_in,
    case,
    come,
    come_after,
    sent,
    shown,
    status,
    taken_back,
    told,
    top_up,
)
from tests.stage.transfers import balance, hear

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CARD = "4242 4242 4242 4242"


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return acme


# --- Its way ----------------------------------------------------------------------------------


def test_it_is_pending_and_then_available(shop: ApiClient) -> None:
    made = top_up(shop, 5000, description="May")

    assert made.status == 200
    assert list(made.body) == [
        "id", "object", "amount", "currency", "status", "description",
        "expected_availability_date", "source", "failure_code", "failure_message", "initiated_by",
        "metadata", "created", "livemode",
    ]  # fmt: skip
    assert (made["status"], made["initiated_by"], balance(shop)) == ("pending", "merchant", 0)
    assert made["source"]["type"] == "bank_transfer"
    come()
    succeeded = shown(shop, made["id"])
    assert (succeeded["status"], balance(shop)) == ("succeeded", 5000)
    assert (came_in(), told(shop, made["id"])) == ([(5000, "received", 5000)], ["succeeded"])
    [event] = shop.events_of(made["id"])
    assert event["data"]["object"] == succeeded.body
    assert event["data"]["previous_attributes"] == {"status": "pending"}
    assert event["request_id"] == made.headers["Request-Id"]
    assert_audit_is_clean()


def test_it_is_expected_on_the_next_business_day(shop: ApiClient) -> None:
    _friday, monday = begin_on_a_friday()

    made = top_up(shop)

    assert made["expected_availability_date"] == int(monday.timestamp())


def test_one_whose_transfer_does_not_come_fails(shop: ApiClient) -> None:
    made = top_up(shop, source="test_fail")

    come()

    failed = shown(shop, made["id"])
    assert (failed["status"], failed["failure_code"]) == ("failed", "could_not_process")
    assert failed["failure_message"]
    assert (balance(shop), told(shop, made["id"])) == (0, ["updated"])
    assert_audit_is_clean()


def test_one_that_the_bank_takes_back_is_reversed(shop: ApiClient) -> None:
    made = top_up(shop, source="test_reverse")
    come()
    assert (status(made["id"]), balance(shop)) == ("succeeded", 5000)

    come_after(5)

    assert (status(made["id"]), balance(shop)) == ("reversed", 0)
    assert told(shop, made["id"]) == ["succeeded", "updated"]
    rows = shop.get(f"/v1/balance_transactions?source={made['id']}")["data"]
    assert [row["type"] for row in rows] == ["topup_reversal", "topup"]
    assert_audit_is_clean()


def test_one_that_never_comes_stays_pending(shop: ApiClient) -> None:
    made = awaited(shop)

    come_after(86_400)

    assert (status(made["id"]), came_in()) == ("pending", [])


def test_a_bank_that_is_away_is_told_later_and_once(shop: ApiClient, bank: BankTransport) -> None:
    made = top_up(shop)
    bank.fault = "cut_after"
    come()
    assert status(made["id"]) == "pending"
    bank.fault = None

    come_after(30)

    assert (status(made["id"]), came_in()) == ("succeeded", [(5000, "received", 5000)])


# --- Found by its reference -------------------------------------------------------------------


@pytest.mark.parametrize("words", ["{}", "topup {}, thanks", "  {}  ", "REF:{}/1"])
def test_the_reference_is_found_among_other_words(words: str, shop: ApiClient) -> None:
    made = awaited(shop)

    sent(words.format(made["source"]["reference"].lower()))

    assert (status(made["id"]), balance(shop)) == ("succeeded", 5000)


def test_the_reference_may_be_written_in_groups(shop: ApiClient) -> None:
    reference = awaited(shop)["source"]["reference"]

    sent(" ".join(reference[at : at + 4] for at in range(0, 20, 4)))

    assert balance(shop) == 5000


@pytest.mark.parametrize(
    ("text", "amount", "currency"),
    [
        ("{}", 4999, "try"), ("{}", 5001, "try"), ("{}", 5000, "usd"), ("", 5000, "try"),
        ("{}", 2**40, "try"), ("{}X", 5000, "try"), ("{other} {}", 5000, "try"),
    ],
)  # fmt: skip
def test_what_does_not_match_is_a_case_and_books_nothing(
    text: str, amount: int, currency: str, shop: ApiClient
) -> None:
    made, other = awaited(shop), awaited(shop)

    text = text.format(made["source"]["reference"], other=other["source"]["reference"])
    reference = sent(text, amount, currency)

    assert (case(reference).status, case(reference).topup) == ("unmatched", None)
    assert (status(made["id"]), status(other["id"]), balance(shop)) == ("pending", "pending", 0)


@pytest.mark.parametrize("end", ["canceled", "succeeded"])
def test_a_transfer_for_one_that_has_ended_is_a_case(end: str, shop: ApiClient) -> None:
    made = awaited(shop)
    text = made["source"]["reference"]
    if end == "canceled":
        shop.post(f"{TOPUPS}/{made['id']}/cancel")
    else:
        sent(text)

    second = sent(text)

    assert (case(second).status, status(made["id"])) == ("unmatched", end)
    assert balance(shop) == (5000 if end == "succeeded" else 0)


def test_a_transfer_that_matches_nothing_and_is_taken_back_moves_nothing(shop: ApiClient) -> None:
    reference = sent("who knows")

    taken_back(reference)

    assert (case(reference).status, balance(shop)) == ("reversed", 0)
    assert_audit_is_clean()


def test_one_notice_told_twice_counts_once(shop: ApiClient) -> None:
    made = awaited(shop)
    sent(made["source"]["reference"])
    again = TransferNotice.objects.get()
    again.pk, again.number = None, again.number + 1
    again.applied_at, again.next_try_at = None, clock.now()
    again.save(force_insert=True)

    hear()

    assert (IncomingTransfer.objects.count(), balance(shop)) == (1, 5000)
    assert TransferNotice.objects.filter(applied_at=None).count() == 0


def test_a_card_number_in_the_senders_words_is_not_kept() -> None:
    kept = taking_in._plain(f"for {CARD}\n\x00now")

    assert (CARD in kept, kept.isprintable()) == (False, True)


def test_the_command_plays_a_sender_and_a_bank_that_takes_back(shop: ApiClient) -> None:
    made = awaited(shop)
    text = made["source"]["reference"]

    call_command("bank", "transfer_in", "--amount", "5000", "--text", text, stdout=StringIO())
    hear()
    assert status(made["id"]) == "succeeded"
    call_command("bank", "take_back", made["id"], stdout=StringIO())
    hear()

    assert (status(made["id"]), balance(shop)) == ("reversed", 0)
    with pytest.raises(CommandError):
        call_command("bank", "transfer_in", "--amount", "5000", "--text", CARD)


# --- Changes ----------------------------------------------------------------------------------


def test_a_pending_one_is_canceled(shop: ApiClient) -> None:
    made = awaited(shop)

    canceled = shop.post(f"{TOPUPS}/{made['id']}/cancel")

    assert (canceled.status, canceled["status"]) == (200, "canceled")
    [event] = shop.events_of(made["id"])
    assert (event["type"], event["request_id"]) == (
        "topup.updated", canceled.headers["Request-Id"],
    )  # fmt: skip


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("end", ["succeeded", "failed", "canceled", "reversed"])
def test_no_other_one_is_canceled(end: str, shop: ApiClient) -> None:
    source = {"failed": "test_fail", "reversed": "test_reverse", "canceled": "test_never"}.get(end)
    made = top_up(shop, **({"source": source} if source else {}))
    if end == "canceled":
        shop.post(f"{TOPUPS}/{made['id']}/cancel")
    come()
    come_after(5)
    assert status(made["id"]) == end

    refused = shop.post(f"{TOPUPS}/{made['id']}/cancel")

    assert refused.refusal == (400, "topup_unexpected_state", None)
    assert refused.error["topup"] == shown(shop, made["id"]).body


def test_description_and_metadata_change_and_are_told(shop: ApiClient) -> None:
    made = awaited(shop, metadata={"a": "1"})
    changes = {"description": "x", "metadata": {"b": "2"}}

    changed = shop.post(f"{TOPUPS}/{made['id']}", changes)
    shop.post(f"{TOPUPS}/{made['id']}", changes)

    assert (changed["description"], changed["metadata"]) == ("x", {"a": "1", "b": "2"})
    assert told(shop, made["id"]) == ["updated"]


def test_the_same_key_is_the_same_topup(shop: ApiClient) -> None:
    first = top_up(shop, idempotency_key="k")
    again = top_up(shop, idempotency_key="k")

    assert first.body == again.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Topup.objects.count() == 1


# --- Refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"amount": 0}, ("amount_too_small", "amount")),
        ({"amount": -1}, ("amount_too_small", "amount")),
        ({"amount": True}, ("parameter_invalid", "amount")),
        ({"amount": 2**63}, ("amount_too_large", "amount")),
        ({"amount": None}, ("parameter_missing", "amount")),
        ({"currency": "jpy"}, ("currency_not_supported", "currency")),
        ({"source": "test_unknown"}, ("parameter_invalid", "source")),
        ({"initiated_by": "operator"}, ("parameter_unknown", "initiated_by")),
    ],
    ids=str,
)
def test_bad_input_is_refused(
    changes: dict[str, Any], refusal: tuple[str, str], shop: ApiClient
) -> None:
    refused = top_up(shop, **changes)

    assert (refused.refusal, Topup.objects.count()) == ((400, *refusal), 0)


def test_each_source_that_the_schema_names_is_taken_in_a_sandbox(shop: ApiClient) -> None:
    fields = described.published()["components"]["schemas"]["TopupCreateParams"]["properties"]
    named = re.findall(r"`(\w+)`", fields["source"]["description"])

    taken = [top_up(shop, source=one).status for one in named]

    assert (set(named), set(taken)) == ({*creation.OF_A_SANDBOX}, {200})


def test_in_live_every_source_is_refused(shop: ApiClient, settings: Any) -> None:
    settings.LIVEMODE = True
    draft = {"amount": 5000, "currency": "try", "source": "test_fail"}

    # Past the HTTP door: a sandbox's key opens no live one.
    with pytest.raises(ParameterInvalid) as refused:
        creation.create(shop.merchant, draft)

    assert (refused.value.param, Topup.objects.count()) == ("source", 0)


@pytest.mark.parametrize(
    ("changes", "may"), [({"status": "closed"}, False), ({"status": "restricted"}, True)]
)
def test_an_account_that_is_closed_is_refused(
    changes: dict[str, Any], may: bool, shop: ApiClient
) -> None:
    begun = awaited(shop)
    accounts.change(shop.merchant, changes)

    answer = top_up(shop)
    assert (answer.status == 200) == may
    if not may:
        assert answer.refusal == (403, "merchant_restricted", None)

    # A topup that was begun is finished.
    sent(begun["source"]["reference"])
    assert status(begun["id"]) == "succeeded"


def test_without_a_bank_that_takes_transfers_nothing_is_stored(
    shop: ApiClient, settings: Any
) -> None:
    settings.TRANSFERS = ""

    assert top_up(shop).refusal == (503, "upstream_unavailable", None)
    assert Topup.objects.count() == 0


# --- Listed -----------------------------------------------------------------------------------


def test_they_are_listed_filtered_and_sorted(shop: ApiClient, globex: ApiClient) -> None:
    made = [awaited(shop, amount)["id"] for amount in (300, 100, 200)]
    awaited(globex)
    shop.post(f"{TOPUPS}/{made[0]}/cancel")

    def ids(query: str) -> list[str]:
        return [row["id"] for row in shop.get(f"{TOPUPS}?{query}")["data"]]

    assert ids("") == made[::-1]
    assert ids("sort=amount") == [made[1], made[2], made[0]]
    assert ids("status=canceled") == [made[0]]
    assert ids("currency=usd") == []
    assert ids(f"created[gte]={int(clock.now().timestamp()) + 60}") == []
    assert shop.get(f"{TOPUPS}?source=x").refusal == (400, "parameter_invalid", "source")
    assert shop.get(f"{TOPUPS}?sort=status").refusal == (400, "parameter_invalid", "sort")


def test_another_merchant_sees_none_of_it(shop: ApiClient, globex: ApiClient) -> None:
    made = awaited(shop)

    for answer in (
        shown(globex, made["id"]),
        globex.post(f"{TOPUPS}/{made['id']}", {"description": "x"}),
        globex.post(f"{TOPUPS}/{made['id']}/cancel"),
    ):
        assert answer.refusal == (404, "resource_missing", None)
    assert Merchant.objects.count() >= 2
