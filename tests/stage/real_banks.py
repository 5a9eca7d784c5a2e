"""The banks whose protocols the service speaks, each behind its adapter in the test's process."""

from collections.abc import Iterator
from contextlib import contextmanager

from testbank.garanti.terminals import FIRST as GARANTI
from testbank.nestpay.terminals import FIRST as NESTPAY
from tests.stage.bank_days import begin_at_noon
from tests.stage.garanti.way import garanti_behind
from tests.stage.nestpay.way import nestpay_behind
from tests.stage.protocol_way import ProtocolWay

KINDS = ("garanti", "nestpay")


@contextmanager
def real_bank(kind: str) -> Iterator[ProtocolWay]:
    """Let every merchant's payments go to a bank of this kind, from noon of its day on."""
    with nestpay_behind(NESTPAY) if kind == "nestpay" else garanti_behind(GARANTI) as way:
        begin_at_noon()
        yield way
