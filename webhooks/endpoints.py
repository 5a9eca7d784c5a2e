"""Endpoints: a merchant registers, changes, replays them (spec: WebhookEndpoint, contract 3, 9)."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from api import idempotency
from core import clock, ids
from core.errors import DomainError, Explained, LockTimeout, ParameterInvalid
from core.metadata import merge
from core.querysets import MerchantRows
from events import types
from events.models import Event
from merchants import audit_log
from merchants.audit_log import LoggedChange
from merchants.models import Merchant
from webhooks import destinations, replay, resend, signing_secrets, stopping
from webhooks.delivery import wakeups
from webhooks.dispatch import ENDPOINTS_MAX
from webhooks.models import Endpoint, Lane
from webhooks.refusals import EndpointUnexpectedState

DAY_SECONDS = 86_400
# Up to this many lanes are canceled within the request; more are left to the tidying chore.
FEW_LANES = 200


class EndpointLimitReached(DomainError):
    explained = Explained(
        cause="Your account has as many webhook endpoints as it may have.",
        remedy="Delete an endpoint that you do not use any more, or change one of them.",
    )
    code = "endpoint_limit_reached"
    message = f"A merchant has up to {ENDPOINTS_MAX} webhook endpoints."
    is_lasting = True


class WithSecret(NamedTuple):
    """An endpoint together with its secret, which is shown this once."""

    endpoint: Endpoint
    secret: str


def of(merchant: Merchant) -> MerchantRows:
    """Return a merchant's endpoints, without those that were deleted."""
    return Endpoint.objects.for_merchant(merchant).filter(deleted_at=None)


def reachable(merchant: Merchant, event: Event) -> MerchantRows:
    """Return the endpoints that an event may be sent to again: subscribed, and not disabled."""
    rows = of(merchant).exclude(status=Endpoint.Status.DISABLED)
    return rows.filter(enabled_events__overlap=[types.ALL, event.type])


@transaction.atomic(durable=True)
def create(merchant: Merchant, draft: dict[str, Any]) -> WithSecret:
    """Write an endpoint down, with a signing secret.

    :param draft: the validated fields of `CreateEndpointForm`.
    :raises WebhookUrlNotAllowed: the address breaks a rule.
    :raises EndpointLimitReached: the merchant has 16.
    """
    destinations.require(merchant, draft["url"])
    endpoint_id = ids.new("we")
    idempotency.take(endpoint_id)
    _require_room(merchant)
    facts = {**draft, "metadata": merge({}, draft.get("metadata"))}
    endpoint = Endpoint.objects.create(
        id=endpoint_id,
        merchant=merchant,
        api_version=merchant.api_version,
        created_at=clock.now(),
        **facts,
    )
    shown_once = WithSecret(endpoint, signing_secrets.create(endpoint))
    _record("created", endpoint, after=_facts(endpoint))
    return shown_once


def update(merchant: Merchant, endpoint_id: str, changes: dict[str, Any]) -> Endpoint:
    """Change an endpoint's fields; disable it, enable it or start a replay if asked to.

    A new address is used at once, for retries too; new types count for later events.

    :param changes: the validated fields of `UpdateEndpointForm`.
    :raises WebhookUrlNotAllowed: the new address breaks a rule.
    :raises EndpointUnexpectedState: a replay, and the endpoint is not enabled.
    :raises LockTimeout: the endpoint is to be enabled, and more than 200 lanes from before are
        still being canceled.
    """
    is_to_be_enabled = changes.get("disabled") is False
    if is_to_be_enabled and of(merchant).filter(id=endpoint_id).exists():
        # Before the transaction, in chunks: the endpoint is locked only as long as one takes.
        stopping.stop_ahead(endpoint_id)
    return _update(merchant, endpoint_id, changes)


@transaction.atomic(durable=True)
def _update(merchant: Merchant, endpoint_id: str, changes: dict[str, Any]) -> Endpoint:
    idempotency.take(endpoint_id)
    endpoint = _locked(merchant, endpoint_id)
    facts = _facts(endpoint)
    if "url" in changes:
        destinations.require(merchant, changes["url"])
    for name in ("url", "enabled_events", "description"):
        setattr(endpoint, name, changes.get(name, getattr(endpoint, name)))
    if "metadata" in changes:
        endpoint.metadata = merge(endpoint.metadata, changes["metadata"])
    if "disabled" in changes:
        turn = _disable if changes["disabled"] else _enable
        turn(endpoint)
    endpoint.save()
    if changes.get("replay_missed"):
        _replay(endpoint, since=None)
    _record_update(endpoint, facts, is_replayed=bool(changes.get("replay_missed")))
    return endpoint


@transaction.atomic(durable=True)
def delete(merchant: Merchant, endpoint_id: str) -> None:
    """Stop sending to the endpoint for good, and destroy its secrets.

    The row stays, because a merchant's list may have its id as a cursor.
    """
    idempotency.take(endpoint_id)
    endpoint = _locked(merchant, endpoint_id)
    facts = _facts(endpoint)
    _disable(endpoint)
    endpoint.deleted_at = clock.now()
    endpoint.save()
    endpoint.secrets.all().delete()
    _record("deleted", endpoint, before=facts)


@transaction.atomic(durable=True)
def roll_secret(
    merchant: Merchant, endpoint_id: str, *, previous_expires_in_seconds: int | None
) -> WithSecret:
    """Make a new secret; deliveries are signed with the old one too until that expires.

    :param previous_expires_in_seconds: in the movable clock; None is a day, 0 is at once.
    """
    idempotency.take(endpoint_id)
    endpoint = _locked(merchant, endpoint_id)
    seconds = DAY_SECONDS if previous_expires_in_seconds is None else previous_expires_in_seconds
    secret = signing_secrets.roll(endpoint, previous_expires_in_seconds=seconds)
    _record("secret_rolled", endpoint, after={"previous_secret_expires_in": seconds})
    return WithSecret(endpoint, secret)


def with_secret(merchant: Merchant, endpoint_id: str) -> WithSecret:
    """Return an endpoint with its current secret, for a retry of a request that a crash cut off.

    :raises ResourceMissing: the endpoint was deleted since.
    """
    endpoint = of(merchant).find(endpoint_id)
    secrets = signing_secrets.open_for([endpoint_id], clock.now())
    return WithSecret(endpoint, secrets[endpoint_id][0])


@transaction.atomic(durable=True)
def replay_missed(merchant: Merchant, endpoint_id: str, *, since: int | None) -> Endpoint:
    """Start a replay: each object's events are sent from the first missed one to the newest.

    :param since: unix seconds; events missed before are left out. None is no bound.
    :raises EndpointUnexpectedState: the endpoint is not enabled.
    """
    idempotency.take(endpoint_id)
    endpoint = _locked(merchant, endpoint_id)
    moment = None if since is None else datetime.fromtimestamp(since, UTC)
    _replay(endpoint, since=moment)
    _record("replayed", endpoint, after={"since": since})
    return endpoint


@transaction.atomic(durable=True)
def resend_event(merchant: Merchant, event_id: str, endpoint_id: str | None) -> Event:
    """Send an event again, to one endpoint or to all that are subscribed and not disabled.

    :raises EndpointUnexpectedState: the named endpoint is disabled.
    :raises ParameterInvalid: the named endpoint is not subscribed to the event's type.
    """
    idempotency.take(event_id)
    event = _locked_event(merchant, event_id)
    if endpoint_id is None:
        endpoints = list(_for_update(reachable(merchant, event)).order_by("id"))
    else:
        endpoints = [_required(merchant, event, endpoint_id)]
    resend.resend(event, endpoints)
    if endpoints:
        after = {"webhook_endpoints": [endpoint.id for endpoint in endpoints]}
        audit_log.record("event.resent", merchant=merchant, subject=event.id, after=after)
    return event


# --- The audit log; last in each transaction --------------------------------------------------


def _facts(endpoint: Endpoint) -> dict[str, Any]:
    """Return an endpoint as the audit log shows it: without its secrets, and without its health."""
    facts = ("url", "enabled_events", "description", "metadata")
    shown = {name: getattr(endpoint, name) for name in facts}
    return {**shown, "disabled": endpoint.status == Endpoint.Status.DISABLED}


def _record(
    verb: str,
    endpoint: Endpoint,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    change = LoggedChange(f"endpoint.{verb}", endpoint.id, before, after)
    audit_log.record_all(endpoint.merchant, [change])


def _record_update(endpoint: Endpoint, facts: dict[str, Any], *, is_replayed: bool) -> None:
    before, after = audit_log.difference(facts, _facts(endpoint))
    if after:
        missed = {"replay_missed": True} if is_replayed else {}
        _record("updated", endpoint, before=before, after={**after, **missed})
    elif is_replayed:
        _record("replayed", endpoint, after={"since": None})


# --- Rows, locked -----------------------------------------------------------------------------


def _for_update(rows: MerchantRows) -> MerchantRows:
    # All but the key: a transaction that plans a delivery refers to the endpoint and must not wait.
    return rows.select_for_update(of=("self",), no_key=True)


def _locked(merchant: Merchant, endpoint_id: str, *, param: str | None = None) -> Endpoint:
    return _for_update(of(merchant)).find(endpoint_id, param=param)


def _locked_event(merchant: Merchant, event_id: str) -> Event:
    # The lock keeps retention from deleting the event before its new delivery refers to it.
    return _for_update(Event.objects.for_merchant(merchant)).find(event_id)


def _require_room(merchant: Merchant) -> None:
    # The lock on the merchant lets requests at the same time count one after the other.
    Merchant.objects.select_for_update(no_key=True).get(id=merchant.id)
    if of(merchant).count() >= ENDPOINTS_MAX:
        raise EndpointLimitReached


def _required(merchant: Merchant, event: Event, endpoint_id: str) -> Endpoint:
    endpoint = _locked(merchant, endpoint_id, param="webhook_endpoint")
    if not {types.ALL, event.type} & {*endpoint.enabled_events}:
        message = "The endpoint is not subscribed to the event's type."
        raise ParameterInvalid(message, param="webhook_endpoint")
    if endpoint.status == Endpoint.Status.DISABLED:
        raise EndpointUnexpectedState(endpoint)
    return endpoint


# --- Status; the caller has locked the row ----------------------------------------------------


def _disable(endpoint: Endpoint) -> None:
    # From the commit on, no delivery to it is claimed any more.
    endpoint.status = Endpoint.Status.DISABLED
    endpoint.replay_xid = endpoint.replay_since = None
    # A merchant who disables a failing endpoint needs no mail about it.
    _forget_trouble(endpoint)
    endpoint.save()
    _cancel_pending_if_few(endpoint)
    transaction.on_commit(wakeups.wake)


def _cancel_pending_if_few(endpoint: Endpoint) -> None:
    # The merchant then sees at once that nothing is pending. More lanes are canceled in chunks by
    # the next run of the tidying chore.
    if not _has_many(Lane.objects.filter(endpoint=endpoint)):
        stopping.stop(endpoint)


def _enable(endpoint: Endpoint) -> None:
    if endpoint.status == Endpoint.Status.ENABLED:
        return
    # Deliveries that are still pending from before count as missed: only a replay sends them.
    if _has_many(Lane.objects.filter(endpoint=endpoint, is_resend=False)):
        raise LockTimeout
    stopping.stop(endpoint)
    endpoint.status = Endpoint.Status.ENABLED
    endpoint.failures_in_a_row = 0
    _forget_trouble(endpoint)


def _forget_trouble(endpoint: Endpoint) -> None:
    endpoint.mail_due_at = endpoint.troubled_at = endpoint.trouble_mailed_at = None


def _has_many(lanes: QuerySet[Lane]) -> bool:
    return lanes[: FEW_LANES + 1].count() > FEW_LANES


def _replay(endpoint: Endpoint, *, since: datetime | None) -> None:
    if endpoint.status != Endpoint.Status.ENABLED:
        raise EndpointUnexpectedState(endpoint)
    replay.start(endpoint, since=since)
