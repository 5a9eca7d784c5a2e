"""Registrations of the apps: a wrong one keeps the service from starting."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

from acquirers.conversation import kinds
from acquirers.notices import applying
from acquirers.transfers import taking_in
from core.registry import Registry
from core.rest import resources
from events import outbox, transitions, types
from ledger import earmarks
from merchants import terms
from payments.intents import transition
from payments.refunds import asking


class WithoutSlots(asking.Refunds):
    slots = 0


class WithoutDecisions(asking.Refunds):
    decisions = kinds.Kind.decisions  # type: ignore[assignment]


class WithoutAsking(kinds.Kind[Any]):
    model = asking.Refund
    slots = 1
    facts = consequences = asking.Refunds.facts  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("registry", "register"),
    [
        (kinds.KINDS, kinds.register),
        (resources.RESOURCES, resources.register),
        (transitions.TABLES, transitions.register),
        (types.AGGREGATES, types.register),
        (transition.FOLLOWERS, transition.register),
        (terms.REGISTERED, terms.register),
        (outbox.SUBSCRIBERS, outbox.register),
        (earmarks.EARMARKS, earmarks.register),
        (applying.HANDLERS, lambda handler: applying.register(fraud_warning=handler)),
        (taking_in.HANDLERS, lambda handler: taking_in.register(transfer_paid=handler)),
    ],
    ids=lambda one: one.noun if isinstance(one, Registry) else "",
)
def test_what_is_registered_twice_is_refused_by_its_name(
    registry: Registry[Any], register: Callable[[Any], None]
) -> None:
    name = {
        "handler of notices": "fraud_warning",
        "handler of notices of transfers": "transfer_paid",
    }
    first = name.get(registry.noun) or next(iter(registry))

    with pytest.raises(ImproperlyConfigured, match=f"The {registry.noun} {first} is registered"):
        register(registry[first])


def test_an_app_that_registers_again_does_not_start() -> None:
    with pytest.raises(ImproperlyConfigured, match="The table of transitions refund is registered"):
        apps.get_app_config("refunds").ready()


@pytest.mark.parametrize(
    ("kind", "lack"), [(WithoutSlots, "has no slots"), (WithoutDecisions, "but no decisions")]
)
def test_a_kind_that_lacks_something_is_refused_by_its_name(
    kind: type[kinds.Kind[Any]], lack: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"{kind.__name__} .*{lack}"):
        kinds.register(kind())


def test_a_kind_without_a_method_is_refused_by_both_names() -> None:
    with pytest.raises(TypeError, match="WithoutAsking.*ask"):
        WithoutAsking()  # type: ignore[abstract]
