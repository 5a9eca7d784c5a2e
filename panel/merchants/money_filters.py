"""The filters of payments, payment pages, refunds, disputes and the balance as inputs."""

from collections.abc import Iterable
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from ledger.filters import TRANSACTIONS
from panel.merchants.balance_words import TYPES
from panel.merchants.dispute_words import REASONS
from panel.merchants.list_forms import (
    ANY,
    BOUNDS,
    NEWEST_FIRST,
    AnyChoice,
    ListForm,
    SumForm,
    day,
    order,
    several_statuses,
    text,
)
from payments.checkout.resource import SESSIONS
from payments.checkout.states import SessionStatus
from payments.disputes.resource import DISPUTES
from payments.disputes.states import DisputeStatus
from payments.intents.filters import PAYMENTS
from payments.intents.states import PaymentStatus
from payments.refunds.resource import REFUNDS
from payments.refunds.states import Method, RefundStatus
from payouts.resource import PAYOUTS
from payouts.states import PayoutStatus
from payouts.topups.resource import TOPUPS
from payouts.topups.states import TopupStatus

CAPTURES: list[tuple[str, Any]] = [ANY, ("automatic", _("At once")), ("manual", _("By hand"))]
COUNTRIES: list[tuple[str, Any]] = [ANY, ("true", _("Domestic")), ("false", _("Foreign"))]
METHODS: dict[str, Any] = {Method.VOID.value: _("Void"), Method.REFUND.value: _("Refund")}


DAYS = ("created_from", "created_to")


class PaymentForm(SumForm):
    spec = PAYMENTS
    bar = ("q", "currency", *DAYS)
    pair = ("metadata_key", "metadata_value")
    refused = {
        **SumForm.refused,
        "metadata_key": _("Give a key and its value, without brackets."),
        "last4": _("Give the last four digits of the card."),
        "program": _("Give a card programme, such as bonus."),
        "issuer": _("Give the issuer's whole name: 100 characters at most."),
        "installments": _("Give a number of installments: 1 is none."),
    }

    q = text(_("Search"), placeholder="pi_…")
    currency = AnyChoice(label=_("Currency"), required=False)
    capture_method = AnyChoice(label=_("Capture"), required=False, choices=CAPTURES)
    last4 = text(_("Last four digits"), inputmode="numeric")
    program = text(_("Card programme"))
    issuer = text(_("Issuer"))
    installments = text(_("Installments"), inputmode="numeric")
    domestic = AnyChoice(label=_("Card"), required=False, choices=COUNTRIES)
    customer = text(_("Customer"), placeholder="cus_…")
    metadata_key = text(_("Metadata: key"))
    metadata_value = text(_("Metadata: value"))
    sort = order()
    vars()["status[]"] = several_statuses(PaymentStatus.values)
    field_order = (
        "q", "amount_from", "amount_to", "currency", "created_from", "created_to",
        "capture_method", "last4", "program", "issuer", "installments", "domestic",
        "customer", "metadata_key", "metadata_value", "sort", "status[]",
    )  # fmt: skip

    def input_of(self, param: str) -> str:
        return "metadata_key" if param.startswith("metadata") else super().input_of(param)

    def clean(self) -> dict[str, Any]:
        found = super().clean()
        if bool(found.get("metadata_key")) != bool(found.get("metadata_value")):
            self.add_error("metadata_key", self.refused["metadata_key"])
        return found

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


class CheckoutForm(ListForm):
    spec = SESSIONS
    payment_intent = text(_("Payment"), placeholder="pi_…")
    customer = text(_("Customer"), placeholder="cus_…")
    sort = AnyChoice(
        label=_("Order"), required=False, choices=[NEWEST_FIRST, ("created", _("Oldest first"))]
    )
    vars()["status[]"] = several_statuses(SessionStatus.values)
    field_order = (
        "payment_intent", "customer", "created_from", "created_to", "sort", "status[]",
    )  # fmt: skip


class RefundForm(SumForm):
    spec = REFUNDS
    bar = ("payment_intent", "method", *DAYS)
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


class PayoutForm(ListForm):
    spec = PAYOUTS
    bar = ("currency", *DAYS)
    human = {
        **BOUNDS,
        "arrival_from": "arrival_date[gte]",
        "arrival_to": "arrival_date[lt]",
    }
    ranges = (("created_from", "created_to"), ("arrival_from", "arrival_to"))

    currency = AnyChoice(label=_("Currency"), required=False)
    arrival_from = day(_("Arrives from"))
    arrival_to = day(_("Arrives to"))
    sort = order(
        **{"-arrival_date": _("Last to arrive first"), "arrival_date": _("First to arrive first")}
    )
    vars()["status[]"] = several_statuses(PayoutStatus.values)
    field_order = (
        "currency", "created_from", "created_to", "arrival_from", "arrival_to", "sort", "status[]",
    )  # fmt: skip


class TopupForm(ListForm):
    spec = TOPUPS
    bar = ("currency", *DAYS)

    currency = AnyChoice(label=_("Currency"), required=False)
    sort = order()
    vars()["status[]"] = several_statuses(TopupStatus.values)
    field_order = ("currency", "created_from", "created_to", "sort", "status[]")


class MovementForm(ListForm):
    """The filters of movements; tabs above the form choose the currency."""

    spec = TRANSACTIONS
    bar = ("type", "source", *DAYS)
    human = {
        **BOUNDS,
        "available_from": "available_on[gte]",
        "available_to": "available_on[lt]",
    }
    ranges = (("created_from", "created_to"), ("available_from", "available_to"))
    type = AnyChoice(label=_("Kind"), required=False, choices=[ANY, *TYPES.items()])
    source = text(_("Of which payment, refund, dispute, payout or top-up"), placeholder="pi_…")
    available_from = day(_("Available from"))
    available_to = day(_("Available to"))
    sort = order()
    field_order = (
        "type", "source", "created_from", "created_to", "available_from", "available_to", "sort",
    )  # fmt: skip

    @property
    def unseen(self) -> list[tuple[str, str]]:
        return [("currency", self.unit)]

    @property
    def kept(self) -> list[tuple[str, str]]:
        return [one for one in super().kept if one not in self.unseen]
