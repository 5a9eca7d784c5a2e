"""The table of the panel's pages: address, view, and the right that a page asks for."""

from typing import Any

from django.urls import URLPattern, path

from panel.merchants import (
    audit_log,
    balance,
    checkout_changes,
    checkouts,
    customer_changes,
    customers,
    deliveries,
    disputes,
    endpoint_changes,
    endpoint_secrets,
    endpoints,
    events,
    exports,
    keys,
    merchant_settings,
    movements,
    overview,
    payer_blocks,
    payment_changes,
    payment_lists,
    payments,
    payouts,
    refunding,
    refunds,
    request_errors,
    request_log,
    request_logs,
    restores,
    search,
    settlement_exports,
    statements,
    team,
    websites,
)
from panel.merchants.pages import View
from panel.permissions import PAGES, Right, Rights

app_name = "panel"
# By the name of a list's page, the right to export the list.
EXPORTS = {
    "payments": Right.EXPORT,
    "refunds": Right.EXPORT,
    "disputes": Right.EXPORT,
    "payouts": Right.EXPORT,
    "topups": Right.EXPORT,
    "movements": Right.EXPORT,
    "customers": Right.EXPORT,
    "request_logs": Right.EXPORT_LOGS,
    "events": Right.EXPORT_LOGS,
    "audit_log": Right.OWN,
}
# Lists that lie below another page.
BELOW = dict.fromkeys(("payouts", "topups", "movements"), "balance/")


def page(
    way: str, view: View, right: Right, *, name: str = "", do: Right | None = None, **given: Any
) -> URLPattern:
    """Return the address of a merchant's page, and enter its rights in the table of roles.

    :param way: below the merchant's address.
    :param name: if it is not the view's own.
    :param do: the right to send the page's form, if it has one.
    """
    name = name or view.__name__
    PAGES[name] = Rights(right, do)
    return path(f"<str:merchant>/{way}" if way else "<str:merchant>", view, given, name=name)


def form(way: str, view: View, right: Right, **options: Any) -> URLPattern:
    """Return the address of a page with a form, which the same right opens and sends."""
    return page(way, view, right, do=right, **options)


urlpatterns = [
    path("", overview.home, name="home"),
    path("look", overview.choose_look, name="look"),
    page("", overview.overview, Right.SEE),
    page("go_live", overview.go_live, Right.SEE),
    *(
        form(
            f"{BELOW.get(listed, '')}{listed}/export",
            exports.export,
            right,
            name=f"export_{listed}",
            listed=listed,
        )
        for listed, right in EXPORTS.items()
    ),
    page("payments", payment_lists.payments, Right.SEE),
    page("payments/<str:payment>", payments.payment, Right.SEE),
    page("payments/<str:payment>/now", payments.payment_now, Right.SEE),
    form("payments/<str:payment>/capture", payment_changes.capture_payment, Right.MOVE_MONEY),
    form("payments/<str:payment>/cancel", payment_changes.cancel_payment, Right.MOVE_MONEY),
    form("payments/<str:payment>/refund", refunding.refund_payment, Right.MOVE_MONEY),
    form("payments/<str:payment>/note", payment_changes.note_payment, Right.NOTE),
    form("payments/<str:payment>/block", payer_blocks.block_payer, Right.MOVE_MONEY),
    form("payments/<str:payment>/unblock", payer_blocks.unblock_payer, Right.MOVE_MONEY),
    form("payments/<str:payment>/ask", checkout_changes.ask_again, Right.MOVE_MONEY),
    page("payment-pages", checkouts.payment_pages, Right.SEE),
    form("payment-pages/ask", checkout_changes.ask_for_payment, Right.MOVE_MONEY),
    page("payment-pages/<str:session>", checkouts.payment_page, Right.SEE),
    form("payment-pages/<str:session>/end", checkout_changes.end_payment_page, Right.MOVE_MONEY),
    page("refunds", payment_lists.refunds, Right.SEE),
    page("refunds/<str:refund>", refunds.refund, Right.SEE),
    page("disputes", payment_lists.disputes, Right.SEE),
    page("disputes/<str:dispute>", disputes.dispute, Right.SEE),
    form("disputes/<str:dispute>/evidence", disputes.dispute_evidence, Right.MOVE_MONEY),
    form("disputes/<str:dispute>/submit", disputes.submit_dispute, Right.MOVE_MONEY),
    form("disputes/<str:dispute>/accept", disputes.accept_dispute, Right.MOVE_MONEY),
    page("balance", balance.balance, Right.SEE_BALANCE),
    page("balance/movements", movements.movements, Right.SEE_BALANCE),
    page("balance/settlements/<str:settlement>", balance.settlement, Right.SEE_BALANCE),
    form(
        "balance/settlements/<str:settlement>/export",
        settlement_exports.export_settlement,
        Right.EXPORT,
    ),
    page("statements", statements.statements, Right.SEE_BALANCE),
    page("statements/<str:statement>", statements.statement, Right.SEE_BALANCE),
    form("statements/<str:statement>/export", statements.export_statement, Right.EXPORT),
    page("balance/payouts", payouts.payouts, Right.SEE_BALANCE),
    form("balance/payouts/create", payouts.create_payout, Right.PAY_OUT),
    page("balance/payouts/<str:payout>", payouts.payout, Right.SEE_BALANCE),
    form("balance/payouts/<str:payout>/cancel", payouts.cancel_payout, Right.PAY_OUT),
    page("balance/topups", payouts.topups, Right.SEE_BALANCE),
    form("balance/topups/create", payouts.create_topup, Right.PAY_OUT),
    page("balance/topups/<str:topup>", payouts.topup, Right.SEE_BALANCE),
    form("balance/topups/<str:topup>/cancel", payouts.cancel_topup, Right.PAY_OUT),
    form("websites", websites.websites, Right.DEVELOP),
    form("websites/<str:site>/remove", websites.remove_website, Right.DEVELOP),
    form("callbacks/<str:site>/remove", websites.remove_callback, Right.DEVELOP),
    page("keys", keys.listed, Right.DEVELOP, name="keys"),
    form("keys/create", keys.create, Right.DEVELOP, name="create_key"),
    page("keys/<str:key>", keys.shown, Right.DEVELOP, name="key"),
    form("keys/<str:key>/roll", keys.roll, Right.DEVELOP, name="roll_key"),
    form("keys/<str:key>/revoke", keys.revoke, Right.DEVELOP, name="revoke_key"),
    page("request_logs", request_logs.request_logs, Right.SEE_LOGS),
    page("request_logs/errors", request_errors.request_errors, Right.SEE_LOGS),
    page("request_logs/<str:request_log>", request_log.request_log, Right.SEE_LOGS),
    page("webhooks", endpoints.webhooks, Right.DEVELOP),
    form("webhooks/add", endpoint_secrets.add_endpoint, Right.DEVELOP),
    page("webhooks/<str:endpoint>", endpoints.endpoint, Right.DEVELOP),
    form("webhooks/<str:endpoint>/edit", endpoint_changes.edit_endpoint, Right.DEVELOP),
    form("webhooks/<str:endpoint>/secret", endpoint_secrets.roll_endpoint_secret, Right.DEVELOP),
    form("webhooks/<str:endpoint>/disable", endpoint_changes.disable_endpoint, Right.DEVELOP),
    form("webhooks/<str:endpoint>/enable", endpoint_changes.enable_endpoint, Right.DEVELOP),
    form("webhooks/<str:endpoint>/delete", endpoint_changes.delete_endpoint, Right.DEVELOP),
    form("webhooks/<str:endpoint>/replay", endpoint_changes.replay_endpoint, Right.DEVELOP),
    form("webhooks/<str:endpoint>/test", endpoint_changes.try_endpoint, Right.DEVELOP),
    page("deliveries/<str:delivery>", deliveries.delivery, Right.SEE_LOGS),
    page("events", events.events, Right.SEE_LOGS),
    page("events/<str:event>", events.event, Right.SEE_LOGS),
    form("events/<str:event>/resend", events.resend_event, Right.RESEND),
    page("customers", customers.listed, Right.SEE, name="customers"),
    form("customers/create", customer_changes.create_customer, Right.CHANGE_CUSTOMERS),
    page("customers/<str:customer>", customers.shown, Right.SEE, name="customer"),
    form("customers/<str:customer>/edit", customer_changes.edit_customer, Right.CHANGE_CUSTOMERS),
    form(
        "customers/<str:customer>/delete", customer_changes.delete_customer, Right.CHANGE_CUSTOMERS
    ),
    page("settings", merchant_settings.settings, Right.OWN),
    form("settings/edit", merchant_settings.edit_settings, Right.OWN),
    page("audit_log", audit_log.listed, Right.OWN, name="audit_log"),
    page("audit_log/<str:entry>", audit_log.entry, Right.OWN, name="audit_entry"),
    page("restores", restores.restores, Right.SEE),
    page("search", search.search, Right.SEE),
    page("team", team.listed, Right.OWN, name="team"),
    form("team/invite", team.invite, Right.OWN),
    form("team/leave", team.leave_team, Right.SEE),
    form("team/second_factors", team.require_second_factor, Right.OWN),
    form("team/<str:person>/role", team.change_role, Right.OWN),
    form("team/<str:person>/remove", team.remove_member, Right.OWN),
    form("invitations/<str:invitation>/resend", team.resend_invitation, Right.OWN),
    form("invitations/<str:invitation>/withdraw", team.withdraw_invitation, Right.OWN),
]
