"""Keyed fingerprints of e-mail addresses: equal addresses are found, and none can be read.

The card's is the vault's (`vault.cards.fingerprint`).
"""

import unicodedata

from core import keyring

DOT_ABOVE = "\N{COMBINING DOT ABOVE}"
# Turkish keyboards write all of these where others write `i`.
TURKISH_I = str.maketrans(dict.fromkeys("İIı", "i"))


def of_email(merchant_id: str | None, email: str) -> str:
    """Return 64 hex characters, the same for the same address of one merchant.

    :param merchant_id: None for the installation's own lists.
    """
    text = f"{merchant_id or ''}|{canonical(email)}"
    return keyring.ring().mac("email_fingerprint", text.encode()).hex()


def canonical(email: str) -> str:
    """Return the form in which addresses are compared.

    Capitals and the Turkish `İ I ı` make no difference; dots and `+tag` count as written.
    """
    plain = unicodedata.normalize("NFKC", email.strip()).translate(TURKISH_I).lower()
    # Lower case of `İ`, made elsewhere, is an i with a second dot.
    return plain.replace("i" + DOT_ABOVE, "i")
