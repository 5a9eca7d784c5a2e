"""The rows of a statement: with their labels for the page, and as cells of its CSV file."""

from collections.abc import Iterable
from datetime import date
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

from ledger.models import Movement
from panel.merchants.export_columns import utc
from payouts.statements.models import Statement

Type = Movement.Type
LABELS: dict[str, Any] = {
    Type.CHARGE.value: _("Charges"),
    Type.REFUND.value: _("Refunds"),
    Type.REFUND_FAILURE.value: _("Refunds that came back"),
    Type.DISPUTE.value: _("Disputes (held back)"),
    Type.DISPUTE_REVERSAL.value: _("Disputes won"),
    Type.PAYOUT.value: _("Payouts"),
    Type.PAYOUT_FAILURE.value: _("Payouts that came back"),
    Type.PAYOUT_CANCEL.value: _("Payouts canceled"),
    Type.TOPUP.value: _("Top-ups"),
    Type.TOPUP_REVERSAL.value: _("Top-ups taken back"),
    Type.ADJUSTMENT.value: _("Corrections"),
}
# The order of the page: what comes in, what goes back, what is moved to and from accounts.
ORDER = (
    Type.CHARGE, Type.REFUND, Type.REFUND_FAILURE, Type.DISPUTE, Type.DISPUTE_REVERSAL, Type.TOPUP,
    Type.TOPUP_REVERSAL, Type.PAYOUT, Type.PAYOUT_FAILURE, Type.PAYOUT_CANCEL, Type.ADJUSTMENT,
)  # fmt: skip
COLUMNS = (
    "line", "id", "count", "amount", "fee", "net", "currency", "account", "sent", "arrived",
    "status", "begins", "ends", "timezone", "statement",
)  # fmt: skip


class StatementLine(NamedTuple):
    """The movements of one type, or all of them; amounts in minor units, the fee as it was taken.

    :param given_fee: the fee as a change of the balance.
    """

    kind: str
    label: Any
    number: int
    amount: int
    fee: int
    net: int

    @property
    def given_fee(self) -> int:
        return -self.fee


def lines(made: Statement) -> list[StatementLine]:
    """Return the lines of a statement, one for each type, in the order of the page."""
    rows = {kind: StatementLine(kind, LABELS.get(kind, kind), *numbers)
            for kind, *numbers in made.lines}  # fmt: skip
    return [rows[kind] for kind in ORDER if kind in rows]


def whole(made: Statement) -> StatementLine:
    """Return the sums of all lines."""
    columns: Iterable[tuple[int, ...]] = zip(
        *(numbers for _kind, *numbers in made.lines), strict=True
    )
    return StatementLine("change", _("Change in the month"), *map(sum, columns))


def payouts(made: Statement) -> list[dict[str, Any]]:
    """Return the payouts of a statement, their days as dates: the row keeps them as texts."""
    days = ("sent", "arrived")
    return [
        {**one, **{day: one[day] and date.fromisoformat(one[day]) for day in days}}
        for one in made.payouts
    ]


def cells(made: Statement, *, is_final: bool) -> list[tuple[Any, ...]]:
    """Return the rows of the file: they are made of the statement alone."""
    end = (
        utc(made.begins_at), utc(made.ends_at), made.timezone,
        "final" if is_final else "provisional",
    )  # fmt: skip
    return [(*row, *end) for row in (*_sums(made), *_payouts(made))]


def _sums(made: Statement) -> Iterable[tuple[Any, ...]]:
    rest = ("",) * 4
    yield ("opening", "", "", "", "", made.opening, made.currency, *rest)
    for one in (*lines(made), whole(made)):
        yield (one.kind, "", one.number, one.amount, one.fee, one.net, made.currency, *rest)
    for name in ("closing", "available", "pending", "reserved", "surcharge"):
        yield (name, "", "", "", "", getattr(made, name), made.currency, *rest)


def _payouts(made: Statement) -> Iterable[tuple[Any, ...]]:
    for one in made.payouts:
        yield (
            "of_payouts", one["id"], "", -one["amount"], "", "", made.currency,
            one["account"], one["sent"] or "", one["arrived"] or "", one["status"],
        )  # fmt: skip
