"""The terminals of the old bank: two, so that an order can be asked for at the wrong one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """One terminal as the bank keeps it."""

    terminal: str
    user: str
    password: str
    store_key: str

    @property
    def credentials(self) -> dict[str, str]:
        """Return the credentials as `manage.py acquirer set` takes them."""
        return {
            "terminal": self.terminal,
            "user": self.user,
            "password": self.password,
            "store_key": self.store_key,
        }


FIRST = Account("70000001", "first-api", "a first password", "a first store key")
SECOND = Account("70000002", "second-api", "a second password", "a second store key")
ACCOUNTS = {account.terminal: account for account in (FIRST, SECOND)}
