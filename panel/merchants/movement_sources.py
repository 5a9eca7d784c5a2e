"""The cause of each movement for people: a payment and its card, an account, a reference."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.models import Movement
from merchants.models import Member
from panel.merchants import links
from payments.intents.models import Attempt
from payouts import destinations
from payouts.models import Payout
from payouts.topups.models import Topup


class Source(NamedTuple):
    """The object behind a movement.

    :param text: what people call it; its id if it has no name.
    :param url: of its page, or nothing.
    :param card: with which a payment was made.
    """

    text: str
    url: str
    card: dict[str, Any] | None = None


def of(member: Member, movements: Sequence[Movement]) -> dict[str, Source]:
    """Return by a movement's id what it was for, in two statements for all of them."""
    payments, transfers = _payments(member, movements), _transfers(member, movements)
    found = {}
    for row in movements:
        url = links.to(member, row.source_id)
        if attempt := payments.get(row.charge_id or ""):
            intent = attempt.intent
            url = url or links.to(member, intent.id)
            found[row.id] = Source(
                intent.description or intent.id, url, attempt.card or intent.card
            )
        else:
            found[row.id] = Source(transfers.get(row.source_id) or row.source_id, url)
    return found


def _payments(member: Member, movements: Sequence[Movement]) -> dict[str, Attempt]:
    """Return the charges behind charges, refunds and disputes, with their payments."""
    wanted = {row.charge_id for row in movements if row.charge_id}
    rows = Attempt.objects.for_merchant(member.merchant).filter(id__in=wanted)
    return {row.id: row for row in rows.select_related("intent")} if wanted else {}


def _transfers(member: Member, movements: Sequence[Movement]) -> dict[str, str]:
    """Return the masked account of payouts, and the text by which a top-up's transfer came."""
    wanted = {row.source_id for row in movements if not row.charge_id}
    if not wanted:
        return {}
    payouts = Payout.objects.for_merchant(member.merchant).filter(id__in=wanted)
    topups = Topup.objects.for_merchant(member.merchant).filter(id__in=wanted)
    found = payouts.values_list("id", "iban").union(topups.values_list("id", "reference"))
    return {
        row_id: destinations.masked(text) if row_id.startswith("po_") else text
        for row_id, text in found
    }
