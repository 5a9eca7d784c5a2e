"""3-D Secure as acquirers see it: how it begins, and the answer that the payer's browser brings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core import urls

# How an authentication ended (mdStatus): in full, or with the issuer answering for its customer.
FULL, ATTEMPTED = "1", ("2", "3", "4")


class AuthenticationProof(Mapping[str, str]):
    """The bank's proof that its customer authenticated; it is sent with the authorisation.

    Only the adapter that made it reads it. It is never logged or stored: it shows nothing, and is
    neither pickled nor copied.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return "<Proof>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("A proof is not written down.")


@dataclass(frozen=True, slots=True)
class Redirect:
    """A beginning of 3-D Secure where the browser opens a page of the bank.

    :param transaction_id: the authentication's, if the bank has given one already.
    """

    url: str
    transaction_id: str | None = None
    version: str = "2"


@dataclass(frozen=True, slots=True)
class FormPost:
    """A beginning where the browser posts a form, whose fields are made when the payer arrives.

    :param origins: of the pages that the form may lead to, for the page's `form-action`.
    """

    url: str
    origins: tuple[str, ...]
    version: str = "2"


def form_to(gate_url: str) -> FormPost:
    """Return the beginning at a gate that leads to no other origin."""
    host = urls.parse(gate_url)
    return FormPost(gate_url, (f"{host.scheme}://{host.host}:{host.port}",))


@dataclass(frozen=True, slots=True)
class Form:
    """The form that a payer's browser posts to the bank's gate; it may hold the card.

    :param charges: the bank charges by itself behind its gate, before the browser comes back.
    """

    url: str
    fields: Mapping[str, str] = field(repr=False)
    charges: bool = False


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The bank says how the authentication ended; its signature is verified.

    :param md_status: `1` is a full authentication, `2` to `4` an attempted one; any other value
        is none.
    :param has_proof: an authentication value is there, which an attempted one needs.
    """

    md_status: str
    eci: str
    proof: AuthenticationProof
    transaction_id: str | None = None
    has_proof: bool = False


@dataclass(frozen=True, slots=True)
class NotAuthenticated:
    """The payer came back without an authentication: unsigned answers can end a try so."""

    md_status: str | None = None


@dataclass(frozen=True, slots=True)
class AskTheBank:
    """The bank may have charged already: an inquiry has to find out."""


Return = Authenticated | NotAuthenticated | AskTheBank


class Forged(Exception):
    """The answer is not the bank's, or not whole."""
