"""The terminals that the simulated bank knows at its NestPay doors; no real bank has them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NestpayTerminal:
    """One terminal as the bank keeps it; hosts of this protocol differ in the rest.

    :param encoding: of the API's answers.
    :param writes_decimals: a history has amounts as `1.01` and not as `101`.
    :param has_code_outside: `ERRORCODE` stands next to `Extra` and not in it.
    :param allows_attempted: the contract lets half secure payments through (mdStatus 2 to 4).
    """

    client_id: str
    user: str
    password: str = field(repr=False)
    store_key: str = field(repr=False)
    name: str
    encoding: str = "ISO-8859-9"
    writes_decimals: bool = False
    has_code_outside: bool = False
    allows_attempted: bool = False

    @property
    def credentials(self) -> dict[str, str]:
        """Return the credentials by their names at the bank."""
        return {
            "client_id": self.client_id,
            "user": self.user,
            "password": self.password,
            "store_key": self.store_key,
        }


FIRST = NestpayTerminal(
    "100200300", "SANDBOXAPI", "of-the-sandbox-1", "SANDBOXKEY1", "Sandbox Shop"
)
# Its store key has both characters that the hash escapes.
SECOND = NestpayTerminal(
    "100200301", "SANDBOXAPI2", "of-the-sandbox-2", "SANDBOX|KEY\\2", "Sandbox Shop Two", "UTF-8",
    writes_decimals=True, has_code_outside=True, allows_attempted=True,
)  # fmt: skip
TERMINALS = {terminal.client_id: terminal for terminal in (FIRST, SECOND)}
