"""No answer of a bank brings the number of its card into our book, our answers or our log."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from acquirers import echoes
from acquirers.calls import Course
from acquirers.echoes import Ends, left_out
from acquirers.models import BankExchange
from acquirers.notices import storing
from acquirers.notices.models import Notice
from acquirers.outcomes import (
    Answer,
    BankOperation,
    Exchange,
    Finding,
    OperationKind,
    Outcome,
    Standing,
)
from acquirers.three_d_secure import (
    Authenticated,
    AuthenticationProof,
    FormPost,
    NotAuthenticated,
    Redirect,
)
from events.models import Event
from payments.intents.models import Attempt
from tests.stage.bank_disputes import DISPUTED
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.notifier import Notifier
from tests.stage.sweeper import sweep_after

CARD = Ends(GOOD_CARD[:6], GOOD_CARD[-4:])
CHARGED_IN_SILENCE = "4000001100000017"
ECHOES = {
    "alone": "{}",
    "behind a letter": "X{}",
    "before a letter": "{}X",
    "between digits": "00{}99",
    "in an id": "net_A{}B7",
    "parted": "4242 4242-4242x4242",
    "of a stripe": "B{}^3012",
    "full-width": "wide",
    "encoded": "%34242%34242%34242%34242",
}
HARMLESS = ("424242******4242", "4242424242", "net_0VcA2ihpB3WFTVC3U1PD7Q5l", "4000001100000017")


def echo(form: str) -> str:
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in GOOD_CARD)
    return wide if form == "wide" else form.format(GOOD_CARD)


@pytest.mark.parametrize("form", ECHOES.values(), ids=ECHOES)
def test_the_number_is_found_whatever_is_glued_to_it(form: str) -> None:
    assert echoes.holds_number(echo(form), CARD)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_number_of_this_card_is_kept(text: str) -> None:
    assert not echoes.holds_number(text, CARD)


def test_every_field_of_an_outcome_is_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    told = echo(ECHOES["in an id"])
    exchange = Exchange(code=told, text=f"no such card {told}", numbers={"rrn": told, "stan": "7"})
    texts = dict.fromkeys(echoes.TEXTS, told)

    heard = left_out(Outcome(Answer.APPROVED, **texts, captured=5, exchange=exchange), CARD)

    assert heard == Outcome(Answer.APPROVED, captured=5)
    assert (heard.exchange.code, heard.exchange.text) == ("[redacted]", "[redacted]")
    assert heard.exchange.numbers == {"stan": "7"}
    assert "bank_echoed_card" in caplog.text
    assert GOOD_CARD not in caplog.text


def test_the_answers_before_an_outcome_are_looked_at_too() -> None:
    first = Outcome(Answer.UNKNOWN, exchange=Exchange(text=echo(ECHOES["in an id"])))
    second = Outcome(Answer.DECLINED, exchange=Exchange(text="declined"), after=first)

    heard = left_out(Outcome(Answer.SETTLED, after=second), CARD)

    assert heard.after is not None
    assert heard.after.after is not None
    assert (heard.after.exchange.text, heard.after.after.exchange.text) == (
        "declined", "[redacted]",
    )  # fmt: skip
    assert heard.answer is Answer.SETTLED


def test_every_field_of_a_standing_is_looked_at() -> None:
    told = echo(ECHOES["between digits"])
    numbers = {"stan": told, told: "7", "batch": "9"}
    done = BankOperation(OperationKind.CAPTURE, Answer.APPROVED, 5, numbers)
    texts, exchange = dict.fromkeys(echoes.TEXTS, told), Exchange(numbers={told: "7"})

    heard = left_out(Standing(Finding.FOUND, (done,), **texts, exchange=exchange), CARD)

    assert heard == Standing(Finding.FOUND, (replace(done, numbers={"batch": "9"}),))
    assert heard.exchange.numbers == {}


def test_an_answer_without_an_echo_is_the_same_one() -> None:
    told = Outcome(Answer.APPROVED, "00", "A1B2C3", HARMLESS[2])

    assert left_out(told, CARD) is told


def test_an_authentication_does_not_begin_with_an_echo() -> None:
    told, fair = echo(ECHOES["in an id"]), Redirect("https://acs.example/", "3ds_1")

    assert echoes.of_beginning(replace(fair, transaction_id=told), CARD) is None
    assert echoes.of_beginning(replace(fair, url=f"https://acs.example/{told}"), CARD) is None
    assert echoes.of_beginning(FormPost("https://g.example/", (f"https://{told}",)), CARD) is None
    assert echoes.of_beginning(fair, CARD) is fair


def test_a_payers_return_brings_no_echo() -> None:
    told = echo(ECHOES["in an id"])
    answer = Authenticated("1", told, AuthenticationProof({}), transaction_id=told)

    heard = echoes.of_return(answer, CARD)

    assert isinstance(heard, Authenticated)
    assert (heard.md_status, heard.eci, heard.transaction_id) == ("1", "", "")
    assert echoes.of_return(NotAuthenticated(told), CARD) == NotAuthenticated()


@pytest.mark.parametrize("name", ["cvc", "cvv2", "card.securityCode", "sale_cvv"])
def test_a_number_that_is_named_like_a_security_code_is_not_kept(name: str) -> None:
    assert Course().ended(numbers={name: "123", "rrn": "7"}).numbers == {"rrn": "7"}


# --- At the doors -----------------------------------------------------------------------------


@pytest.fixture
def echoing(bank: BankTransport, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the sandbox's bank answer with an echo in each of its references."""

    def begin(number: str) -> None:
        real = bank._ask

        def ask(request: object) -> tuple[int, bytes]:
            status, content = real(request)  # type: ignore[arg-type]
            told = json.loads(content)
            if "network_reference" in told:
                told["network_reference"] = f"X{number}X7"
            return status, json.dumps(told).encode()

        monkeypatch.setattr(bank, "_ask", ask)

    return begin


def kept() -> str:
    rows = [
        *Attempt.objects.values_list("network_reference", "bank_numbers", "authentication"),
        *BankExchange.objects.values_list("bank_code", "bank_text", "numbers"),
        *(bytes(body) for body in Event.objects.values_list("body", flat=True)),
    ]
    assert rows
    return str(rows)


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("number", [GOOD_CARD, CHARGED_IN_SILENCE])
def test_an_echo_in_an_answer_or_an_inquiry_is_not_kept(
    acme: ApiClient, echoing: Callable[[str], None], number: str,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    echoing(number)

    paid = acme.pay(number)
    sweep_after(10)

    assert acme.payment(paid["id"])["status"] == "succeeded"
    assert number not in kept() + caplog.text
    assert "bank_echoed_card" in caplog.text
    refund = acme.refund(paid["id"], 100)
    assert (refund["status"], refund["reference"]) == ("succeeded", None)


@pytest.mark.django_db(databases=["default", "bank"])
def test_an_echo_in_a_notice_is_not_kept(
    acme: ApiClient, bank: BankTransport, notifier: Notifier
) -> None:
    paid = acme.pay(DISPUTED)
    told = notifier.tell("dispute_opened", paid["id"], network_reason_code=DISPUTED)
    glued = replace(told, number=2, dispute=f"X{DISPUTED}XY")
    attempt = Attempt.objects.select_related("terminal").get()

    storing.store(attempt.terminal, [told, glued])

    rows = Notice.objects.order_by("number")
    assert [(row.dispute, row.network_reason_code) for row in rows] == [
        (told.dispute, None),
        (None, None),
    ]
