"""The filters of payments, refunds and disputes as inputs."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from panel.merchants.dispute_words import REASONS
from panel.merchants.list_forms import AnyChoice, ListForm, SumForm, several_statuses, text
from payments.disputes.filters import DISPUTES
from payments.disputes.states import DisputeStatus
from payments.intents.filters import PAYMENTS
from payments.intents.states import PaymentStatus
from payments.refunds.filters import REFUNDS
from payments.refunds.states import Method, RefundStatus

ANY: tuple[str, Any] = ("", _("Any"))
NEWEST_FIRST: tuple[str, Any] = ("", _("Newest first"))
CAPTURES: list[tuple[str, Any]] = [ANY, ("automatic", _("At once")), ("manual", _("By hand"))]
METHODS: dict[str, Any] = {Method.VOID.value: _("Void"), Method.REFUND.value: _("Refund")}


def order(**more: Any) -> AnyChoice:
    """Return the choice of an order, by the list's sort keys; newest first if none is chosen."""
    by_amount = [("-amount", _("Largest first")), ("amount", _("Smallest first"))]
    choices = [NEWEST_FIRST, ("created", _("Oldest first")), *by_amount, *more.items()]
    return AnyChoice(label=_("Order"), required=False, choices=choices)


class PaymentForm(SumForm):
    spec = PAYMENTS
    pair = ("metadata_key", "metadata_value")
    rare = ("customer", *pair, "sort")

    q = text(_("Search"), placeholder="pi_…")
    currency = AnyChoice(label=_("Currency"), required=False)
    capture_method = AnyChoice(label=_("Capture"), required=False, choices=CAPTURES)
    customer = text(_("Customer"), placeholder="cus_…")
    metadata_key = text(_("Metadata: key"))
    metadata_value = text(_("Metadata: value"))
    sort = order()
    vars()["status[]"] = several_statuses(PaymentStatus.values)
    field_order = (
        "q", "amount_from", "amount_to", "currency", "created_from", "created_to",
        "capture_method", "customer", "metadata_key", "metadata_value", "sort", "status[]",
    )  # fmt: skip

    def __init__(self, query: QueryDict, *, zone: str, currency: str = "") -> None:
        super().__init__(query, zone=zone, currency=currency)
        offer_currencies(self)

    def refuse(self, problem: Exception) -> None:
        if (getattr(problem, "param", None) or "").startswith("metadata"):
            self.add_error("metadata_key", _("Give a key and its value, without brackets."))
        else:
            super().refuse(problem)

    def clean(self) -> dict[str, Any]:
        found = super().clean()
        if bool(found.get("metadata_key")) != bool(found.get("metadata_value")):
            self.add_error("metadata_key", _("Give a key and its value, without brackets."))
        return found

    @property
    def has_rare_ones(self) -> bool:
        """Return whether one of the filters that are folded away is used or refused."""
        return any(self.data.get(name) or name in self.errors for name in self.rare)

    @property
    def kept(self) -> list[tuple[str, str]]:
        return [one for one in super().kept if one[0] != self._pair_shown(self.given)[0]]

    def _translated(self) -> Iterable[tuple[str, str]]:
        yield from super()._translated()
        if key := self.cleaned_data.get("metadata_key"):
            yield f"metadata[{key}]", self.cleaned_data["metadata_value"]

    def _shown(self, query: QueryDict) -> QueryDict:
        shown = super()._shown(query)
        name, value = self._pair_shown(query)
        if name and not any(half in query for half in self.pair):
            shown["metadata_key"] = name.removeprefix("metadata[").removesuffix("]")
            shown["metadata_value"] = value
        return shown

    def _pair_shown(self, query: QueryDict) -> tuple[str, str]:
        pairs = [(name, query.get(name, "")) for name in query if name.startswith("metadata[")]
        return pairs[0] if pairs else ("", "")


class RefundForm(SumForm):
    spec = REFUNDS
    payment_intent = text(_("Payment"), placeholder="pi_…")
    method = AnyChoice(label=_("Kind"), required=False, choices=[ANY, *METHODS.items()])
    sort = order()
    vars()["status[]"] = several_statuses(RefundStatus.values)
    field_order = (
        "payment_intent", "amount_from", "amount_to", "created_from", "created_to", "method",
        "sort", "status[]",
    )  # fmt: skip


class DisputeForm(ListForm):
    spec = DISPUTES
    payment_intent = text(_("Payment"), placeholder="pi_…")
    reason = AnyChoice(label=_("Reason"), required=False, choices=[ANY, *REASONS.items()])
    sort = order(evidence_due_by=_("First due first"))
    vars()["status[]"] = several_statuses(DisputeStatus.values)
    field_order = (
        "payment_intent", "reason", "created_from", "created_to", "sort", "status[]",
    )  # fmt: skip


def offer_currencies(form: forms.Form) -> None:
    """Give a form's choice of a currency those of the installation."""
    known = [(code, code.upper()) for code in settings.CURRENCIES]
    form.fields["currency"].choices = [ANY, *known]  # type: ignore[attr-defined]


def common(form: forms.Form) -> list[forms.BoundField]:
    """Return the inputs of a form that are not folded away."""
    return [form[name] for name in form.fields if name not in getattr(form, "rare", ())]


def rare(form: forms.Form) -> list[forms.BoundField]:
    """Return the inputs of a form that are folded away until one is used."""
    return [form[name] for name in getattr(form, "rare", ())]
