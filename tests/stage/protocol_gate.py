"""A payer's browser at the simulated bank's 3-D gates."""

from urllib.parse import urlencode, urlsplit

from tests.stage import payer
from tests.stage.payer import FormOnPage


def walk(form: FormOnPage, button: str = "Approve") -> FormOnPage:
    """Post the form with the card and press a button; return the form that goes back to the shop.

    A card that takes part in no 3-D Secure goes back at once.
    """
    page = payer.request("POST", urlsplit(form.action).path, urlencode(form.fields).encode())
    if page.status == 303:
        page = payer.press(payer.get(page.headers["Location"]), button)
    assert page.status == 200, page.text
    return page.form
