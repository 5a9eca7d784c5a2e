"""Keyed fingerprints of e-mail addresses and networks: equal ones are found, none can be read.

The card's is the vault's (`vault.cards.fingerprint`).
"""

from core import keyring
from core.names import email_key


def of_email(merchant_id: str | None, email: str) -> str:
    """Return 64 hex characters, the same for the same address of one merchant.

    :param merchant_id: None for the installation's own lists.
    """
    text = f"{merchant_id or ''}|{email_key(email)}"
    return keyring.ring().mac("email_fingerprint", text.encode()).hex()


def of_network(merchant_id: str, network: str) -> str:
    """Return 64 hex characters, the same for the same network of one merchant's payers."""
    return keyring.ring().mac("network_fingerprint", f"{merchant_id}|{network}".encode()).hex()
