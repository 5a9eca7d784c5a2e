"""The forms of the panel, from its table of addresses: what is sent, and what is left of it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from django.test import Client

from core import clock, ids
from merchants.models import Member, User
from panel.permissions import PAGES
from payments.disputes.models import Dispute
from tests.stage import panel_pages
from tests.stage.client import ApiClient
from tests.stage.factories import EndpointFactory
from tests.stage.hooks import URL, tell
from tests.stage.second_factors import add_app
from tests.stage.transfers import rich

# Files that are made anew each time; they are read, and change nothing.
EXPORTS = {name for name in PAGES if name.startswith("export_")}


class Form(NamedTuple):
    """A form, filled in.

    :param action: of the one row that it leaves in the audit log.
    :param thing: makes what it is about, past the panel.
    :param prepare: makes what else it needs, for the person who sends it.
    :param changes_merchant: `GET /v1/merchant` answers something else afterwards.
    """

    action: str
    fields: dict[str, Any]
    thing: Callable[[ApiClient], Any] | None = None
    prepare: Callable[[ApiClient, User], object] = lambda _acme, _user: None
    changes_merchant: bool = False


def _paid(method: str) -> Callable[[ApiClient], Any]:
    return lambda acme: acme.pay(capture_method=method)["id"]


def _disputed(**changes: Any) -> Callable[[ApiClient], Any]:
    """Return the making of an inquiry about a payment: it takes no money."""

    def make(acme: ApiClient) -> Any:
        paid = acme.pay().body
        return Dispute.objects.create(
            id=ids.new("dp"), merchant=acme.merchant, intent_id=paid["id"],
            attempt_id=paid["latest_attempt"], bank_reference=paid["id"], amount=12500,
            currency="try", status="warning_needs_response", reason="fraudulent",
            evidence_due_by=clock.now() + timedelta(days=9), created_at=clock.now(), **changes,
        ).pk  # fmt: skip

    return make


def _of_merchant(name: str) -> Callable[[ApiClient], Any]:
    return lambda acme: panel_pages.THINGS[name](acme.merchant)


def _endpoint(status: str) -> Callable[[ApiClient], Any]:
    """Return the making of an endpoint that has missed something."""

    def make(acme: ApiClient) -> Any:
        row = EndpointFactory(merchant=acme.merchant, url=URL, status=status)
        tell(acme.merchant, "cus_1")
        return row.pk

    return make


def _missed(acme: ApiClient) -> Any:
    row = EndpointFactory(merchant=acme.merchant, url=URL, status="failing")
    tell(acme.merchant, "cus_1")
    type(row).objects.filter(pk=row.pk).update(status="enabled")
    return row.pk


def _event(acme: ApiClient) -> Any:
    EndpointFactory(merchant=acme.merchant, url=URL)
    return tell(acme.merchant, "cus_1").pk


def _richer(acme: ApiClient, _user: User) -> object:
    return rich(acme)


def _with_app(_acme: ApiClient, user: User) -> object:
    return add_app(user)


ENDPOINT = {"url": URL, "enabled_events": ["*"], "description": "Shop"}
# By the page's name; of a page with two forms the second has a word behind its name.
FORMS: dict[str, Form] = {
    "capture_payment": Form("payment.captured", {"amount": "1.00"}, _paid("manual")),
    "cancel_payment": Form("payment.canceled", {}, _paid("manual")),
    "refund_payment": Form("refund.created", {"amount": "1.00"}, _paid("automatic")),
    "note_payment": Form("payment.noted", {"note": "They called"}, _paid("automatic")),
    "block_payer": Form(
        "list_entry.added", {"kind": "card", "reason": "Chargebacks"}, _paid("automatic")
    ),
    "unblock_payer": Form(
        "list_entry.removed", {"reason": "A mistake"}, _of_merchant("unblock_payer")
    ),
    "ask_for_payment": Form(
        "checkout.created",
        {"amount": "50.00", "currency": "try", "locale": "auto", "days": "7"},
    ),
    "ask_again": Form(
        "checkout.created", {"locale": "tr", "days": "1"}, _of_merchant("ask_again")
    ),
    "end_payment_page": Form("checkout.expired", {}, _of_merchant("end_payment_page")),
    "dispute_evidence": Form("dispute.updated", {"shipping_carrier": "PTT"}, _disputed()),
    "submit_dispute": Form(
        "dispute.submitted", {}, _disputed(evidence={"shipping_carrier": "PTT"})
    ),
    "accept_dispute": Form("dispute.closed", {}, _disputed()),
    "create_payout": Form(
        "payout.created", {"amount": "50.00", "currency": "try", "destination": "main"},
        prepare=_richer,
    ),
    "cancel_payout": Form("payout.canceled", {}, _of_merchant("cancel_payout")),
    "create_topup": Form(
        "topup.created", {"amount": "50.00", "currency": "try", "source": "test_never"}
    ),
    "cancel_topup": Form("topup.canceled", {}, _of_merchant("cancel_topup")),
    "create_key": Form("key.created", {"name": "Shop server"}),
    "roll_key": Form("key.rolled", {"expires_in": "3600"}, _of_merchant("roll_key")),
    "revoke_key": Form("key.revoked", {}, _of_merchant("revoke_key")),
    "websites": Form(
        "website.added", {"website": "https://shop.example"}, changes_merchant=True
    ),
    "websites callback": Form(
        "callback.added", {"callback_url": "http://localhost:9/x"}, changes_merchant=True
    ),
    "remove_website": Form(
        "website.removed", {}, _of_merchant("remove_website"), changes_merchant=True
    ),
    "remove_callback": Form(
        "callback.removed", {}, _of_merchant("remove_callback"), changes_merchant=True
    ),
    "add_endpoint": Form("endpoint.created", ENDPOINT),
    "edit_endpoint": Form("endpoint.updated", ENDPOINT, _of_merchant("edit_endpoint")),
    "roll_endpoint_secret": Form(
        "endpoint.secret_rolled", {"expires_in": "3600"}, _of_merchant("edit_endpoint")
    ),
    "disable_endpoint": Form("endpoint.updated", {}, _endpoint("enabled")),
    "enable_endpoint": Form("endpoint.replayed", {"replay_missed": "on"}, _endpoint("failing")),
    "delete_endpoint": Form("endpoint.deleted", {}, _endpoint("enabled")),
    "replay_endpoint": Form("endpoint.replayed", {"since": ""}, _missed),
    "try_endpoint": Form("endpoint.tested", {}, _endpoint("enabled")),
    "resend_event": Form("event.resent", {"webhook_endpoint": ""}, _event),
    "invite": Form("invitation.sent", {"email": "new@x.example", "role": "finance"}),
    "resend_invitation": Form("invitation.sent", {}, _of_merchant("resend_invitation")),
    "withdraw_invitation": Form("invitation.withdrawn", {}, _of_merchant("withdraw_invitation")),
    "change_role": Form("member.role_changed", {"role": "finance"}, _of_merchant("change_role")),
    "remove_member": Form("member.removed", {}, _of_merchant("remove_member")),
    "require_second_factor": Form("merchant.updated", {"required": "yes"}, prepare=_with_app),
    "leave_team": Form("member.removed", {}),
    "create_customer": Form("customer.created", {"email": "payer@shop.example"}),
    "edit_customer": Form("customer.updated", {"name": "Ada"}, _of_merchant("edit_customer")),
    "delete_customer": Form("customer.deleted", {}, _of_merchant("delete_customer")),
    "edit_settings": Form(
        "merchant.updated", {"name": "Acme & Co", "notice_language": "tr"}, changes_merchant=True
    ),
}  # fmt: skip
# What no form has: those that would be of use to somebody who adds them.
EXTRA = {
    "merchant": "MERCHANT", "merchant_id": "MERCHANT", "id": "pi_1", "created_by": "1", "user": "1",
    "status": "succeeded", "livemode": "true", "scopes": "{}", "is_staff": "on",
}  # fmt: skip


def unlisted() -> set[str]:
    """Return the pages with a form that is not in the table."""
    with_form = {name for name, rights in PAGES.items() if rights.do} - EXPORTS
    return with_form - {page_of(name) for name in FORMS}


def page_of(name: str) -> str:
    return name.partition(" ")[0]


# Forms whose second page says what happens.
IN_TWO_PAGES = {"capture_payment", "refund_payment", "create_payout"}


def looked(browser: Client, url: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Send a form's first page, and return the fields that its second one sends."""
    page = browser.post(url, fields)
    assert page.status_code == 200, page.content.decode()
    return {**fields, "seen": page.context["seen"]}


def sent_whole(browser: Client, url: str, fields: dict[str, Any]) -> Any:
    """Send a form, and its second page too if there is one; return the last answer."""
    answer = browser.post(url, fields)
    seen = (answer.context or {}).get("seen") if answer.status_code == 200 else None
    return browser.post(url, {**fields, "seen": seen}) if seen else answer


class Sender:
    """A person in the team of Acme, and the form before them.

    :param role: in the team.
    """

    def __init__(self, acme: ApiClient, name: str, person: User) -> None:
        self.form, self.person = FORMS[name], person
        thing = self.form.thing(acme) if self.form.thing else "unknown"
        self.form.prepare(acme, person)
        self.page, self.thing = page_of(name), thing
        self.url = panel_pages.address(self.page, acme.merchant.id, thing)

    def member(self, acme: ApiClient) -> Member:
        return acme.merchant.members.get(user=self.person)

    def filled(self, browser: Client) -> dict[str, Any]:
        """Open the form, and return the fields that its last page sends."""
        page = browser.get(self.url)
        assert page.status_code == 200, page.content.decode()
        fields = {"token": page.context["token"], **self.form.fields}
        return looked(browser, self.url, fields) if self.page in IN_TWO_PAGES else fields
