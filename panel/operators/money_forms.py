"""The forms of a merchant's money: prices, the payout schedule, accounts for payouts."""

from typing import Any, ClassVar

from django import forms

from ledger import prices
from ledger.models import Price
from merchants import payout_schedules
from merchants.models import PayoutSchedule
from panel.operators.terms_forms import MINOR, LinesForm, Row, TermsForm, number

ANY, RETURNS_FEE = "*", "returns_fee"


class PricesForm(LinesForm):
    title = "Change prices"
    name = "prices"
    shown = prices.shown

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fields["lines"].label = "Prices, one on each line"
        self.fields["lines"].help_text = (
            "Currency, card type (* for all), installments (* for any), basis points, fixed amount"
            " in minor units, and returns_fee where refunds bring it back: try credit 3 250 25"
            " returns_fee. Of several, the most specific counts. Without a price a charge is free."
        )

    def written(self, row: Row) -> str:
        """Return the line of a price."""
        sales = (row["card_type"] or ANY, row["installments"] or ANY)
        words = [row["currency"], *sales, row["bps"], row["fixed"]]
        return " ".join(map(str, [*words, *([RETURNS_FEE] if row["returns_fee"] else [])]))

    def read(self, line: str) -> Row:
        """Return the price of a line."""
        currency, card_type, installments, bps, fixed, *returns = line.split()
        if returns not in ([], [RETURNS_FEE]) or card_type not in (ANY, *Price.CardType.values):
            raise ValueError("not a price")
        return {
            "currency": currency.lower(),
            "card_type": None if card_type == ANY else card_type,
            "installments": None if installments == ANY else number(installments),
            "bps": number(bps),
            "fixed": number(fixed),
            "returns_fee": bool(returns),
        }


class ScheduleForm(TermsForm):
    """The whole schedule; of the anchors only that of the interval counts."""

    title = "Change payout schedule"

    interval = forms.ChoiceField(choices=PayoutSchedule.Interval.choices, label="Paid out")
    weekly_anchor = forms.ChoiceField(
        choices=[("", "–"), *PayoutSchedule.Weekday.choices], required=False,
        label="On which day of the week", help_text="Of weekly payouts.",
    )  # fmt: skip
    monthly_anchor = forms.IntegerField(
        required=False, min_value=1, max_value=31, label="On which day of the month",
        help_text="Of monthly payouts. Shorter months end before.",
    )  # fmt: skip
    minimum_amount = forms.IntegerField(min_value=0, label="Least payout", help_text=MINOR)
    delay_days = forms.IntegerField(
        min_value=0, max_value=30, label="Business days from a capture to its money",
        help_text="For captures from then on.",
    )  # fmt: skip
    installments = forms.ChoiceField(
        choices=PayoutSchedule.Installments.choices, label="Payments in installments come"
    )

    def values(self, asked: Any) -> Row:
        return payout_schedules.shown(self.merchant)

    def changes(self) -> Row:
        typed = self.cleaned_data
        # The anchor of another interval is left out, and goes with it.
        others = {
            name
            for name, interval in payout_schedules.ANCHORS.items()
            if interval != typed["interval"]
        }
        values = {name: value or None if name in payout_schedules.ANCHORS else value
                  for name, value in typed.items() if name not in others}  # fmt: skip
        return {"payout_schedule": values}


class AddAccountForm(TermsForm):
    title = "Register payout account"

    reference = forms.CharField(
        max_length=40, help_text="The name by which payouts ask for it, such as main."
    )
    holder_name = forms.CharField(max_length=200, label="Holder, as the bank knows the name")
    iban = forms.CharField(max_length=50, label="IBAN")

    def values(self, asked: Any) -> Row:
        return {}

    def changes(self) -> Row:
        return {"add_payout_account": dict(self.cleaned_data)}


class AccountForm(TermsForm):
    """One account that is taken away or chosen; `term` is the change's name."""

    term: ClassVar[str]

    reference = forms.CharField(max_length=40)

    def values(self, asked: Any) -> Row:
        return {"reference": asked.get("reference", "")}

    def changes(self) -> Row:
        return {self.term: self.cleaned_data["reference"]}


class RemoveAccountForm(AccountForm):
    title, term = "Remove payout account", "remove_payout_account"


class DefaultAccountForm(AccountForm):
    title, term = "Make payout account the default", "default_payout_account"
