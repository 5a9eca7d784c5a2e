"""The course of one request to a bank: words are scrubbed and cut, numbers kept whole or not."""

from typing import Any

import pytest

from acquirers.calls import Course
from acquirers.conversation import settling
from acquirers.models import BankExchange
from acquirers.outcomes import Answer, Outcome
from payments.bank import attempts
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.undecided import silent_case

CARD = "4242424242424242"
UNFIT = {
    "too long": "7" * 81,
    "a card number": CARD, "a card number in it": f"no. {CARD[:8]} {CARD[8:]}",
    "a NUL": "12\x0034", "a line": "12\n34", "no ASCII": "１２３４", "half a pair": "12\ud800",
    "a secret key": "sk_live_" + "a" * 49,
}  # fmt: skip


def kept(**numbers: Any) -> dict[str, str]:
    return dict(Course().ended(numbers=numbers).numbers)


def test_numbers_are_kept_as_the_bank_wrote_them() -> None:
    told = {"trans_id": "24123MyBT05017", "host_ref": "612345678901", "batch": "7" * 80}

    assert kept(**told, auth_code="", rrn=None) == told


@pytest.mark.parametrize("what", UNFIT)
def test_a_number_that_can_be_none_is_left_out_and_named_in_the_log(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert kept(host_ref="612345678901", trans_id=UNFIT[what]) == {"host_ref": "612345678901"}

    assert "bank_numbers_left_out" in caplog.text
    assert ("trans_id" in caplog.text, UNFIT[what] in caplog.text) == (True, False)


def test_of_a_flood_of_numbers_a_few_are_kept() -> None:
    assert len(kept(**{f"number_{one}": "1" for one in range(1000)})) == 16


def test_words_are_scrubbed_and_cut() -> None:
    ended = Course().ended(code="9" * 41, text=f"Card {CARD} \x00 refused" + "!" * 300)

    assert (len(ended.code or ""), len(ended.text or "")) == (40, 200)
    assert CARD not in str(ended)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("customer 192.0.2.1 refused.", "customer [address] refused."),
        ("IP:192.0.2.1, again", "IP:[address], again"),
        ("2001:DB8::1 is blocked", "[address] is blocked"),
        (
            "at 14:05:08.511 on 28.11.2026, code 00: abc.",
            "at 14:05:08.511 on 28.11.2026, code 00: abc.",
        ),
    ],
)
def test_a_network_address_is_left_out_of_words(told: str, shown: str) -> None:
    assert Course().ended(text=told).text == shown


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("what", UNFIT)
def test_an_answer_with_such_a_number_is_applied_all_the_same(
    what: str, acme: ApiClient, bank: BankTransport
) -> None:
    attempt: Attempt = Attempt.objects.select_related("intent").get(id=silent_case(acme).attempt_id)
    exchange = Course().ended(numbers={"trans_id": UNFIT[what], "host_ref": "612345678901"})
    said = Outcome(
        Answer.APPROVED, authorization_code="A1B2C3", exchange=exchange, is_from_inquiry=True
    )

    assert settling.settle(attempts.KIND, attempt, said).row.intent.status == "succeeded"

    assert BankExchange.objects.get(attempt=attempt).numbers == {"host_ref": "612345678901"}
