"""`manage.py audit` at a bank that gives no statement: it is asked about each attempt."""

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from typing import Any, ClassVar

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings

from acquirers.gateway import Order
from acquirers.models import BankExchange, Terminal
from acquirers.outcomes import Answer, BankOperation, Finding, OperationKind, Standing
from acquirers.sandbox.gateway import SandboxGateway
from audit import asked
from cases.models import Case
from ledger.tasks import settle_due
from tests.stage.bank_transport import BankTransport, sandbox
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, payment
from tests.stage.routed import routed
from tests.stage.sweeper import sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DAY = 86_400
NO_RECORD = Standing(Finding.NO_RECORD)


class Mute(SandboxGateway):
    """The test bank without its statement; it may be told what to answer to inquiries."""

    says: ClassVar[Any] = None
    asked: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.session = sandbox().session

    def statement(self, terminal: Terminal, *, after: str = "") -> None:
        return None

    def inquire(self, order: Order) -> Standing:
        Mute.asked.append(order.reference)
        standing = super().inquire(order)
        return Mute.says(standing) if Mute.says else standing


@pytest.fixture(autouse=True)
def _mute_bank(bank: BankTransport) -> Iterator[None]:
    Mute.says, Mute.asked = None, []
    with override_settings(ACQUIRERS={**settings.ACQUIRERS, "mute": f"{__name__}.Mute"}):
        routed("mute", kind="mute")
        yield


def audit(*options: str) -> tuple[int, str]:
    settle_due()
    said = StringIO()
    try:
        call_command("audit", "--rate", "1000", *options, stdout=said)
    except SystemExit as end:
        return int(end.code or 0), said.getvalue()
    return 0, said.getvalue()


def every_fate(acme: ApiClient) -> None:
    """Charge, decline, authorise, cancel, void, and refund in part."""
    acme.pay(DECLINED_CARD)
    paid, held = acme.pay(), acme.pay(capture_method="manual")
    acme.post(f"/v1/payment_intents/{held['id']}/cancel")
    acme.pay(capture_method="manual")
    acme.refund(paid["id"], 500)
    acme.refund(acme.pay()["id"])
    acme.post("/v1/payment_intents", payment(confirm=False))


def test_it_is_asked_about_every_attempt_and_all_agree(acme: ApiClient) -> None:
    every_fate(acme)

    status, said = audit()

    assert status == 0, said
    assert "banks without a statement, asked: 5 looked at, ok" in said
    assert "UNKNOWN" not in said
    kept = BankExchange.objects.filter(operation="audit_inquiry")
    assert sorted(kept.values_list("answer", flat=True)) == [
        "approved", "approved", "declined", "voided", "voided",
    ]  # fmt: skip
    audit()
    assert (kept.count(), len(Mute.asked)) == (5, 10)


def refunded(standing: Standing) -> Standing:
    more = BankOperation(OperationKind.REFUND, Answer.APPROVED, 700)
    return replace(standing, operations=(*standing.operations, more))


def captured_less(standing: Standing) -> Standing:
    changed = [
        replace(one, amount=1) if one.deed is OperationKind.CAPTURE else one
        for one in standing.operations
    ]
    return replace(standing, operations=tuple(changed))


@pytest.mark.parametrize("says", [lambda _: NO_RECORD, refunded, captured_less])
def test_what_the_bank_has_otherwise_is_a_difference_and_a_case(says: Any, acme: ApiClient) -> None:
    paid = acme.pay()
    Mute.says = says

    status, said = audit()

    assert status == 1
    assert f"DIFFERENT  attempt {paid['latest_attempt']}" in said
    assert Case.objects.get().kind == "bank_contradicts_book"
    Mute.says = None
    assert audit()[0] == 0
    assert Case.objects.get().status == "resolved"


def test_a_charge_that_failed_here_is_found(acme: ApiClient) -> None:
    acme.pay(DECLINED_CARD)
    approved = BankOperation(OperationKind.AUTHORIZATION, Answer.APPROVED)
    Mute.says = lambda standing: replace(standing, operations=(approved,))

    assert audit()[0] == 1


def test_silence_is_named_and_an_older_attempt_without_an_answer_fails_the_audit(
    acme: ApiClient,
) -> None:
    paid = acme.pay()
    Mute.says = lambda _: Standing(Finding.UNKNOWN)

    status, said = audit()
    assert (status, "the bank gave no answer about it" in said) == (0, True), said

    sweep_after(3 * DAY)
    status, said = audit()
    assert status == 1
    assert f"UNVOUCHED  terminal mute: {paid['latest_attempt']} of {paid['id']}" in said

    Mute.says = None
    assert audit()[0] == 1  # It is outside of the window, so nobody is asked.
    status, said = audit("--window", "4")
    assert status == 0, said
    assert audit()[0] == 0  # It was vouched for, once and for good.


def test_many_are_counted_and_few_named(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "NAMED", 1)
    acme.pay(), acme.pay(), acme.pay()  # noqa: B018
    sweep_after(3 * DAY)

    status, said = audit()

    assert (status, said.count("UNVOUCHED")) == (1, 2)
    assert "terminal mute: and 2 more" in said


def test_the_rate_is_kept(acme: ApiClient) -> None:
    waited: list[float] = []
    acme.pay(), acme.pay()  # noqa: B018
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("audit.asked.time.sleep", waited.append)
        call_command("audit", "--rate", "0.5", stdout=StringIO())

    paces = [seconds for seconds in waited if seconds > 1.0]
    assert len(paces) == 2, waited
    assert max(paces) <= 2.0


@pytest.mark.parametrize("wrong", ["0", "-1", "x", "nan", "inf"])
def test_a_pace_is_a_number_above_zero(wrong: str) -> None:
    for option in ("--rate", "--window"):
        with pytest.raises(CommandError):
            call_command("audit", f"{option}={wrong}")
