"""The statement "who calls": parts of it that find what a change needs of the key's merchant.

So a payment costs no statements of their own, and each process sees a changed route or terminal
with its next request. A request that only reads finds key and merchant alone (docs/adr/0034).
"""

from typing import Any

from acquirers.models import routes
from core import installation
from merchants import sites
from payments.installments import bins
from payments.intents import non_secure
from payments.risk import standings

ROOMS: tuple[Any, ...] = (routes, standings, bins, sites, non_secure)
PARTS: dict[str, str] = {room.CALLER: room.OF_CALLER for room in ROOMS}
PARTS[installation.CALLER] = installation.is_held_column()
