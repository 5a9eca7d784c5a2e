"""An adapter that raises: the bank may have been asked, so the row stays in doubt and is asked."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from acquirers import doubt
from acquirers.gateway import AuthenticationRequest, AuthorizationRequest, Order
from acquirers.hearing import HeardGateway
from acquirers.models import Terminal
from acquirers.noticed import NoticesUnreadable
from acquirers.outcomes import Answer, Finding, Outcome, Standing
from acquirers.sandbox.gateway import SandboxGateway
from acquirers.three_d_secure import AskTheBank, Forged
from core.connections import AskedWrongly
from payments.intents.models import PaymentIntent
from testbank.models import Authorization
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import payment
from tests.stage.sweeper import sweep_after
from vault.models import SealedCard

SECRET = "4242424242424242 is in the message"
UNKNOWN, NOT_FOUND_OUT = Outcome(Answer.UNKNOWN), Standing(Finding.UNKNOWN)
NOTHING = cast(Any, None)
ORDER: Order = NOTHING
CARD, TO_PAY = SealedCard(), Order("R", NOTHING, "", 1, "try")
REQUEST = AuthorizationRequest(TO_PAY, capture=True, sealed=CARD, cvc=None)
BEGINNING = AuthenticationRequest(
    TO_PAY, capture=True, merchant_name="", callback_url="", return_url="", sealed=CARD, cvc=None
)
ASKED: dict[str, tuple[Callable[[HeardGateway], Any], Any]] = {
    "authorize": (lambda it: it.authorize(REQUEST), UNKNOWN),
    "begin": (lambda it: it.begin(BEGINNING), None),
    "handoff": (lambda it: it.handoff(BEGINNING, "https://bank.example/"), None),
    "read_return": (lambda it: it.read_return(ORDER, b"", ""), AskTheBank()),
    "capture": (lambda it: it.capture(ORDER, amount=1), UNKNOWN),
    "void": (lambda it: it.void(ORDER), UNKNOWN),
    "voidable_until": (lambda it: it.voidable_until(NOTHING), None),
    "refund": (lambda it: it.refund(ORDER, reference="R", amount=1), UNKNOWN),
    "inquire_refund": (lambda it: it.inquire_refund(ORDER, sought=NOTHING), NOT_FOUND_OUT),
    "submit_evidence": (
        lambda it: it.submit_evidence(ORDER, dispute="D", number=1, evidence={}),
        UNKNOWN,
    ),
    "accept_dispute": (lambda it: it.accept_dispute(ORDER, dispute="D"), UNKNOWN),
    "end_inquiry": (lambda it: it.end_inquiry(ORDER, dispute="D"), UNKNOWN),
    "inquire": (lambda it: it.inquire(ORDER), NOT_FOUND_OUT),
}


class Raises:
    """An adapter of which each method raises."""

    def __init__(self, fault: Exception) -> None:
        self.fault = fault

    def __getattr__(self, _name: str) -> Callable[..., Any]:
        def fail(*_: object, **__: object) -> Any:
            raise self.fault

        return fail


def heard(fault: Exception) -> HeardGateway:
    return HeardGateway(
        cast(Any, Raises(fault)), {"bin": "424242", "last4": "4242"}, Terminal(name="test")
    )


@pytest.mark.parametrize("operation", ASKED)
def test_what_a_method_raises_is_doubt(operation: str) -> None:
    ask, expected = ASKED[operation]

    with capture_logs() as logged:
        told = ask(heard(KeyError(SECRET)))

    assert told == expected
    [line] = logged
    assert line["event"] == "adapter_failed"
    assert (line["operation"], line["terminal"]) == (operation, "test")
    assert line["fault"] == "KeyError"
    assert line["line"].startswith("tests.acquirers.test_doubt:")
    assert "4242" not in str(line)


@pytest.mark.parametrize("fault", [Forged("not the bank's"), AskedWrongly("no slot")])
def test_a_forged_return_and_a_complaint_of_the_core_are_passed_on(fault: Exception) -> None:
    with pytest.raises(type(fault)):
        heard(fault).read_return(ORDER, b"", "")


@pytest.mark.django_db(databases=["default", "bank"])
@pytest.mark.parametrize("is_charged", [True, False], ids=["charged", "never_sent"])
def test_a_payment_whose_adapter_raises_is_found_out_and_charged_at_most_once(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch, *, is_charged: bool
) -> None:
    authorize = SandboxGateway.authorize

    def fail(gateway: SandboxGateway, request: Any) -> Any:
        if is_charged:
            authorize(gateway, request)
        raise KeyError("password")

    with monkeypatch.context() as failing:
        failing.setattr(SandboxGateway, "authorize", fail)
        answer = acme.post("/v1/payment_intents", payment(confirm=True))

    assert (answer.status, answer.body["status"]) == (200, "processing")
    for _ in range(6):
        sweep_after(900)
    intent = PaymentIntent.objects.get()
    assert intent.status == ("succeeded" if is_charged else "requires_payment_method")
    assert Authorization.objects.count() == is_charged


@pytest.mark.django_db(databases=["default", "bank"])
def test_notices_that_an_adapter_raises_at_are_unreadable() -> None:
    gateway = cast(Any, Raises(ValueError(SECRET)))

    with capture_logs() as logged, pytest.raises(NoticesUnreadable) as refused:
        doubt.notices_of(gateway, Terminal(name="test"), after=0, limit=1)

    assert refused.value.__cause__ is None
    assert [line["fault"] for line in logged] == ["ValueError"]
