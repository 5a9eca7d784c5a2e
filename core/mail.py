"""Addresses that mails can be sent from."""

from django.core.mail.message import sanitize_address


def is_mail_address(text: str) -> bool:
    """Tell whether it is one address, with a name before it or without, as Django reads it."""
    try:
        return "@" in sanitize_address(text, "utf-8")
    except ValueError:
        return False
