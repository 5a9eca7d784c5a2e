"""Keyed fingerprints of e-mail addresses and networks: equal ones are found, none can be read.

The card's is the vault's (`vault.cards.fingerprint`).
"""

from datetime import timedelta

from django.db.models import Q

from core.keyring import ring
from core.keyring.purposes import key_of_fingerprint
from core.names import email_key
from vault import cards

CARD, EMAIL, NETWORK = cards.PURPOSE, "email_fingerprint", "network_fingerprint"
# Of the kinds of list entries.
OF_KIND = {"card": CARD, "email": EMAIL}
# No rule counts further back (`merchants.models.RiskRule`).
WINDOW_MAX = timedelta(days=7)


def of_email(merchant_id: str | None, email: str) -> str:
    """Return a text that is the same for the same address of one merchant, under the primary key.

    :param merchant_id: None for the installation's own lists.
    """
    return all_of_email(merchant_id, email)[0]


def all_of_email(merchant_id: str | None, email: str) -> list[str]:
    """Return the address's fingerprint under each of the keys, that of the primary one first."""
    text = f"{merchant_id or ''}|{email_key(email)}"
    return ring().fingerprints(EMAIL, text.encode())


def of_network(merchant_id: str, network: str) -> str:
    """Return a text that is the same for the same network of one merchant's payers."""
    return all_of_network(merchant_id, network)[0]


def all_of_network(merchant_id: str, network: str) -> list[str]:
    """Return the network's fingerprint under each of the keys, that of the primary one first."""
    return ring().fingerprints(NETWORK, f"{merchant_id}|{network}".encode())


# --- A change of their keys -------------------------------------------------------------------


def is_superseded(purpose: str, fingerprint: str) -> bool:
    """Return whether a fingerprint is of a key that another one has followed."""
    return key_of_fingerprint(purpose, fingerprint) in ring().superseded


def of_key(column: str, name: str) -> Q:
    """Return the condition that a column's fingerprint is of a key."""
    part = name.partition("-")[2]
    return (
        Q(**{f"{column}__startswith": f"{part}."}) if part else ~Q(**{f"{column}__contains": "."})
    )


def superseded(purpose: str) -> list[str]:
    """Return the names of a purpose's keys that another one has followed.

    Only these are made again: a process whose key ring is yesterday's turns no row back.
    """
    return [name for name in ring().names(purpose) if name in ring().superseded]


def is_known(purpose: str, fingerprint: str) -> bool:
    """Return whether a fingerprint is of a key that new payers are compared under."""
    return key_of_fingerprint(purpose, fingerprint) in ring().names(purpose)
