"""The lists of payouts and top-ups, narrowed by the filters of the API's lists."""

from django.http import HttpRequest, HttpResponse

from merchants.models import Member
from panel import permissions
from panel.merchants.balance_filters import PayoutForm, TopupForm
from panel.merchants.pages import page
from panel.merchants.payment_lists import listed
from panel.permissions import Right
from payouts.models import Payout
from payouts.topups.models import Topup


@page()
def payouts(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's payouts."""
    rows = Payout.objects.for_merchant(member.merchant)
    may = permissions.may(member, Right.PAY_OUT)
    return listed(request, member, rows, PayoutForm, "/v1/payouts", may_pay_out=may)


@page()
def topups(request: HttpRequest, member: Member) -> HttpResponse:
    """Show the merchant's top-ups."""
    rows = Topup.objects.for_merchant(member.merchant)
    may = permissions.may(member, Right.PAY_OUT)
    return listed(request, member, rows, TopupForm, "/v1/topups", may_pay_out=may)
