"""Notices of transfers that nobody can read: each is kept by its number, and stops no other."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from acquirers import rails
from acquirers.sandbox import transfers as adapter
from acquirers.sandbox.transfers import SandboxTransfers
from acquirers.transfers import taking_in
from acquirers.transfers.models import TransferNotice
from audit import transfers
from testbank import incoming
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.topups import awaited, status
from tests.stage.transfers import balance, hear

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

TOLD: dict[str, Any] = {
    "number": 7, "kind": "transfer_received", "reference": "T123456789I123456789",
    "amount": 5000, "currency": "try", "failure_code": None, "trace_id": None,
    "remittance": "x", "at": 1_800_000_000,
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"reference": "a\x00b"}, {"reference": "x" * 41}, {"amount": 2**63}, {"kind": "k" * 41},
        {"currency": "liras"}, {"trace_id": "t" * 41}, {"amount": "many"},
        {"remittance": None},
    ],
    ids=str,
)  # fmt: skip
def test_one_that_cannot_be_kept_stops_no_other(
    changes: dict[str, Any], acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = SandboxTransfers.notices

    def with_a_bad_one(self: SandboxTransfers, *, after: int, limit: int) -> Any:
        found = real(self, after=after, limit=limit)
        return [replace(one, **changes) if one.number == 1 else one for one in found]

    monkeypatch.setattr(SandboxTransfers, "notices", with_a_bad_one)
    made = awaited(acme)
    incoming.receive(amount=1, currency="try", remittance="first")
    incoming.receive(amount=5000, currency="try", remittance=made["source"]["reference"])

    hear()

    assert (status(made["id"]), balance(acme), taking_in.last_number()) == ("succeeded", 5000, 2)
    bad = TransferNotice.objects.get(number=1)
    assert (bad.kind, len(transfers.untold().unknown)) == (rails.UNREADABLE, 1)


@pytest.mark.parametrize(
    "changes",
    [{"at": 2**52}, {"at": 2**62}, {"at": "now"}, {"amount": True}, {"kind": None},
     {"reference": ""}, {"remittance": 5}],
    ids=str,
)  # fmt: skip
def test_one_that_cannot_be_read_has_its_number_alone(changes: dict[str, Any]) -> None:
    read = adapter._notice({**TOLD, **changes})

    assert (read.number, read.kind, read.reference) == (7, rails.UNREADABLE, "")


def test_one_that_can_be_read_is() -> None:
    read = adapter._notice(TOLD)

    assert (read.kind, read.remittance) == ("transfer_received", "x")
    assert read.at == datetime.fromtimestamp(1_800_000_000, UTC)
