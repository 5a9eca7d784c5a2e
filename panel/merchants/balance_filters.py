"""The filters of payouts and top-ups as inputs."""

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from panel.merchants.list_forms import BOUNDS, AnyChoice, ListForm, day, several_statuses
from panel.merchants.payment_filters import offer_currencies, order
from payouts.filters import PAYOUTS
from payouts.states import PayoutStatus
from payouts.topups.filters import TOPUPS
from payouts.topups.states import TopupStatus


class _MoneyForm(ListForm):
    def __init__(self, query: QueryDict, *, zone: str, currency: str = "") -> None:
        super().__init__(query, zone=zone, currency=currency)
        offer_currencies(self)


class PayoutForm(_MoneyForm):
    spec = PAYOUTS
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


class TopupForm(_MoneyForm):
    spec = TOPUPS

    currency = AnyChoice(label=_("Currency"), required=False)
    sort = order()
    vars()["status[]"] = several_statuses(TopupStatus.values)
    field_order = ("currency", "created_from", "created_to", "sort", "status[]")
