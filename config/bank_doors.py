"""Doors of a sandbox's bank: a merchant's payments reach it by the protocol of a real one."""

from django.conf import settings

from acquirers import routes, terminals
from acquirers.models import Route, Terminal
from merchants.models import Merchant
from testbank.nestpay.terminals import FIRST

SANDBOX, NESTPAY = "sandbox", "nestpay"
DOORS = (SANDBOX, NESTPAY)
# The terminal that is set up for it.
NAME = "bank-nestpay"


def lead(merchant: Merchant, door: str) -> None:
    """Let a merchant's new payments go through a door; the others keep theirs.

    :param door: one of `DOORS`.
    """
    for route in Route.objects.filter(merchant=merchant, terminal__name=NAME):
        routes.remove(route)
    if door == NESTPAY:
        routes.add(_nestpay(), merchant=merchant)


def _nestpay() -> Terminal:
    """Return the terminal at the bank's NestPay doors, with the addresses of today."""
    values = {
        **FIRST.credentials,
        "api_url": f"{settings.TESTBANK_URL}/fim/api",
        "gate_url": f"{settings.TESTBANK_PUBLIC_URL}/fim/est3Dgate",
    }
    known = Terminal.objects.filter(name=NAME).first()
    if known is None:
        return terminals.add(NAME, kind=NESTPAY, values=values)
    terminals.replace(known, values)
    return known
