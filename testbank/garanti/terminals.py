"""The terminals that the simulated bank knows at its Garanti doors; no real bank has them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class GarantiTerminal:
    """One terminal as the bank keeps it.

    :param repeats_sale: an inquiry's answer repeats the sale's numbers outside of its result.
    :param lists_voids: a history has a line for a void, next to the date at what was voided.
    :param allows_attempted: the contract lets half secure payments through (mdstatus 2 to 4).
    """

    merchant_id: str
    terminal_id: str
    password: str = field(repr=False)
    refund_password: str = field(repr=False)
    store_key: str = field(repr=False)
    name: str
    user: str = "PROVAUT"
    refund_user: str = "PROVRFN"
    mode: str = "TEST"
    repeats_sale: bool = False
    lists_voids: bool = True
    allows_attempted: bool = False

    @property
    def credentials(self) -> dict[str, str]:
        """Return the credentials by their names at the bank."""
        return {
            "merchant_id": self.merchant_id,
            "terminal_id": self.terminal_id,
            "user": self.user,
            "password": self.password,
            "refund_user": self.refund_user,
            "refund_password": self.refund_password,
            "store_key": self.store_key,
            "mode": self.mode,
        }


FIRST = GarantiTerminal(
    "7100200", "30100200", "of-the-sandbox-1", "of-its-refunds-1", "SANDBOXKEY1", "Sandbox Shop"
)
# A short number, so that the one place where it is padded differs; and a key as in production.
SECOND = GarantiTerminal(
    "7100201", "301201", "of-the-sandbox-2", "of-its-refunds-2", "53414E44424F584B455932",
    "Sandbox Shop Two", mode="PROD", repeats_sale=True, lists_voids=False, allows_attempted=True,
)  # fmt: skip
TERMINALS = {terminal.terminal_id: terminal for terminal in (FIRST, SECOND)}
