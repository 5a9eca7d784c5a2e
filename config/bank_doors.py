"""Doors of a sandbox's bank: a merchant's payments reach it by the protocol of a real one."""

from collections.abc import Mapping
from typing import NamedTuple

from django.conf import settings

from acquirers import routes, terminals
from acquirers.models import Route, Terminal
from merchants.models import Merchant
from testbank.garanti import terminals as garanti
from testbank.nestpay import terminals as nestpay

SANDBOX = "sandbox"


class Door(NamedTuple):
    """A protocol of the bank's: its first terminal there, and the paths of its two doors."""

    kind: str
    credentials: Mapping[str, str]
    api_path: str
    gate_path: str

    @property
    def terminal_name(self) -> str:
        """Return the name of the terminal that is set up for it."""
        return f"bank-{self.kind}"


PROTOCOLS = {
    door.kind: door
    for door in (
        Door("nestpay", nestpay.FIRST.credentials, "/fim/api", "/fim/est3Dgate"),
        Door("garanti", garanti.FIRST.credentials, "/VPServlet", "/servlet/gt3dengine"),
    )
}
DOORS = (SANDBOX, *PROTOCOLS)


def lead(merchant: Merchant, door: str) -> None:
    """Let a merchant's new payments go through a door; the others keep theirs.

    :param door: one of `DOORS`.
    """
    names = [one.terminal_name for one in PROTOCOLS.values()]
    for route in Route.objects.filter(merchant=merchant, terminal__name__in=names):
        routes.remove(route)
    if door in PROTOCOLS:
        routes.add(_terminal(PROTOCOLS[door]), merchant=merchant)


def _terminal(door: Door) -> Terminal:
    """Return the terminal at a door of the bank's, with the addresses of today."""
    values = {
        **door.credentials,
        "api_url": f"{settings.TESTBANK_URL}{door.api_path}",
        "gate_url": f"{settings.TESTBANK_PUBLIC_URL}{door.gate_path}",
    }
    known = Terminal.objects.filter(name=door.terminal_name).first()
    if known is None:
        return terminals.add(door.terminal_name, kind=door.kind, values=values)
    terminals.replace(known, values)
    return known
