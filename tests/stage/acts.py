"""Merchants that owe us, and the operators' page by which it is written off."""

from typing import Any

from django.test import Client
from django.urls import reverse

from ledger import book
from ledger.models.accounts import account_id
from tests.stage.book_keeping import Till


def owe(till: Till, amount: int) -> None:
    """Take so much of what was never there: a topup that is paid out, and then reversed."""
    topup = till.topup(amount)
    till.payout(amount)
    till.then(topup, book.topup_reversed)


def page_of(till: Till) -> str:
    """Return the address of the page that writes off what the merchant owes."""
    key = account_id(till.merchant.id, till.currency, "available")
    return reverse("admin:ledger_account_write_off", args=[key])


def form_of(operator: Client, till: Till, **typed: Any) -> dict[str, Any]:
    """Open the page, and return its form as it is sent."""
    shown = operator.get(page_of(till)).context["form"]
    return {"act": shown["act"].value(), **typed}


def written_off(operator: Client, till: Till, amount: int, *, why: str) -> Any:
    """Open the page, and write so much off."""
    return operator.post(page_of(till), form_of(operator, till, amount=amount, why=why))


def sent_once(operator: Client, name: str, typed: dict[str, Any]) -> Any:
    """Open the page of an act that happens once, and send its form."""
    page = reverse(f"admin:{name}")
    act = operator.get(page).context["form"]["act"].value()
    return operator.post(page, {"act": act, **typed})
