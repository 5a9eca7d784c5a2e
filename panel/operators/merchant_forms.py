"""The forms by which a merchant's terms are changed: each knows what it changes."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.http import QueryDict

from merchants import installment_plans, risk_rules
from merchants.models import Merchant
from panel.operators.forms import DeskForm
from panel.operators.money_forms import (
    AddAccountForm,
    DefaultAccountForm,
    PricesForm,
    RemoveAccountForm,
    ScheduleForm,
)
from panel.operators.terms_forms import MINOR, LinesForm, Row, TermsForm, number


class StatusForm(TermsForm):
    title = "Change status"

    status = forms.ChoiceField(choices=Merchant.Status.choices)
    charges_enabled = forms.BooleanField(required=False, label="May take payments")
    payouts_enabled = forms.BooleanField(required=False, label="May be paid out")


class DetailsForm(TermsForm):
    title = "Change details"

    name = forms.CharField(max_length=200)
    legal_name = forms.CharField(max_length=200, required=False)
    email = forms.EmailField(label="E-mail")
    mcc = forms.CharField(max_length=4, required=False, label="Category code (MCC)")
    timezone = forms.CharField(max_length=64, label="Time zone", help_text="Europe/Istanbul")
    country = forms.CharField(max_length=2, help_text="Fixed once there is a payment.")
    default_currency = forms.ChoiceField(
        choices=lambda: [(code, code.upper()) for code in settings.CURRENCIES],
        help_text="Fixed once there is a payment.",
    )
    non_secure_allowed = forms.BooleanField(
        required=False, label="May take payments without 3-D Secure"
    )


class LimitsForm(TermsForm):
    title = "Change limits"

    currency = forms.ChoiceField(
        choices=lambda: [(code, code.upper()) for code in settings.CURRENCIES]
    )
    non_secure = forms.BooleanField(required=False, label="Payments without 3-D Secure")
    per_payment = forms.IntegerField(
        required=False, min_value=0, label="Most per payment", help_text=f"{MINOR} Empty: no limit."
    )
    per_day = forms.IntegerField(
        required=False, min_value=0, label="Most per day", help_text="Empty: no limit."
    )
    negative = forms.IntegerField(
        required=False, min_value=0, label="How far the balance may go below zero",
        help_text="Empty: not at all.",
    )  # fmt: skip

    def values(self, asked: QueryDict) -> Row:
        currency = asked.get("currency", self.merchant.default_currency)
        limit = self.merchant.non_secure_limits.filter(currency=currency).first()
        negative = self.merchant.negative_limits.filter(currency=currency).first()
        return {
            "currency": currency,
            "non_secure": limit is not None,
            "per_payment": limit.per_payment if limit else None,
            "per_day": limit.per_day if limit else None,
            "negative": negative.amount if negative else None,
        }

    def changes(self) -> Row:
        typed = self.cleaned_data
        limit = {name: typed[name] for name in ("per_payment", "per_day")}
        return {
            "non_secure_limits": {typed["currency"]: limit if typed["non_secure"] else None},
            "negative_limits": {typed["currency"]: typed["negative"]},
        }


class PlansForm(LinesForm):
    title = "Change installment plans"
    name = "installments"
    shown = installment_plans.shown

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fields["lines"].label = "Plans, one on each line"
        self.fields["lines"].help_text = (
            "Card programme (* for all others), installments, surcharge in basis points, least"
            " amount in minor units: bonus 3 275 10000"
        )

    def written(self, row: Row) -> str:
        """Return the line of a plan."""
        numbers = (row["installments"], row["surcharge_rate_bps"], row["minimum_amount"])
        return " ".join([row["program"] or "*", *map(str, numbers)])

    def read(self, line: str) -> Row:
        """Return the plan of a line."""
        program, *numbers = line.split()
        count, bps, *least = map(number, numbers)
        if len(least) > 1:
            raise ValueError("too many numbers")
        return {
            "program": None if program == "*" else program,
            "installments": count,
            "surcharge_rate_bps": bps,
            "minimum_amount": least[0] if least else 0,
        }


class RiskForm(LinesForm):
    title = "Change rules about risk"
    name = "risk_rules"
    shown = risk_rules.shown

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.fields["lines"].label = "Rules of its own, one on each line"
        self.fields["lines"].help_text = (
            "As the setting RISK_RULES has them: card_velocity=block/10/3600,"
            " amount:try=review/500000. A rule that is not here is the installation's."
        )

    def written(self, row: Row) -> str:
        """Return the line of a rule."""
        name = f"{row['rule']}:{row['currency']}" if row["currency"] else row["rule"]
        numbers = [row["threshold"], row["window_seconds"]]
        while numbers and numbers[-1] is None:
            numbers.pop()
        parts = [row["deed"], *("" if one is None else str(one) for one in numbers)]
        return f"{name}={'/'.join(parts)}"

    def read(self, line: str) -> Row:
        """Return the rule of a line."""
        name, equals, value = line.partition("=")
        rule, _, currency = name.strip().partition(":")
        deed, *numbers = value.strip().split("/")
        if not equals or len(numbers) > 2:
            raise ValueError("not a rule")
        counts = [number(one) if one else None for one in numbers] + [None, None]
        return {
            "rule": rule,
            "currency": currency,
            "deed": deed,
            "threshold": counts[0],
            "window_seconds": counts[1],
        }


class AddressForm(TermsForm):
    """One address that is added or removed; `term` is the change's name."""

    term: ClassVar[str]

    address = forms.CharField(max_length=2000)

    def values(self, asked: QueryDict) -> Row:
        return {"address": asked.get("address", "")}

    def changes(self) -> Row:
        return {self.term: self.cleaned_data["address"]}


class AddWebsiteForm(AddressForm):
    title, term = "Add website", "add_website"


class AddCallbackForm(AddressForm):
    title, term = "Add callback URL", "add_callback"


class RemoveWebsiteForm(AddressForm):
    title, term = "Remove website", "remove_website"


class RemoveCallbackForm(AddressForm):
    title, term = "Remove callback URL", "remove_callback"


FORMS: dict[str, type[TermsForm]] = {
    "status": StatusForm,
    "details": DetailsForm,
    "limits": LimitsForm,
    "plans": PlansForm,
    "risk": RiskForm,
    "prices": PricesForm,
    "schedule": ScheduleForm,
    "add_account": AddAccountForm,
    "remove_account": RemoveAccountForm,
    "default_account": DefaultAccountForm,
    "add_website": AddWebsiteForm,
    "add_callback": AddCallbackForm,
    "remove_website": RemoveWebsiteForm,
    "remove_callback": RemoveCallbackForm,
}


class OpenForm(DeskForm):
    """An account to be opened. `act` is the new merchant's id: a form is one account."""

    name = forms.CharField(max_length=200)
    email = forms.EmailField(label="Owner's e-mail", help_text="They sign in to the panel with it.")
    country = forms.RegexField(r"^[A-Z]{2}$", initial="TR", help_text="Two capital letters.")
    websites = forms.CharField(
        required=False, max_length=10_000, widget=forms.Textarea(attrs={"rows": 3}),
        label="Websites", help_text="One on each line: https://shop.example",
    )  # fmt: skip
    callbacks = forms.CharField(
        required=False, max_length=100_000, widget=forms.Textarea(attrs={"rows": 3}),
        label="Callback URLs", help_text="One on each line.",
    )  # fmt: skip
    why = forms.CharField(
        max_length=500, widget=forms.Textarea(attrs={"rows": 3}), label="Why, in your words"
    )
    act = forms.CharField(max_length=200, widget=forms.HiddenInput)

    def clean_websites(self) -> tuple[str, ...]:
        """Return the addresses."""
        return tuple(self.cleaned_data["websites"].split())

    def clean_callbacks(self) -> tuple[str, ...]:
        """Return the addresses."""
        return tuple(self.cleaned_data["callbacks"].split())
