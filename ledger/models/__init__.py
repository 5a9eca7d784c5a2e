from ledger.models.accounts import Account
from ledger.models.agenda import Agenda, Due
from ledger.models.calendar import HolidayChange
from ledger.models.checkpoints import Boundary, Checkpoint
from ledger.models.day_sums import DaySum
from ledger.models.movements import LedgerEntry, Movement
from ledger.models.prices import Price
from ledger.models.runs import Run

__all__ = [
    "Account",
    "Agenda",
    "Boundary",
    "Checkpoint",
    "DaySum",
    "Due",
    "HolidayChange",
    "LedgerEntry",
    "Movement",
    "Price",
    "Run",
]
