"""Objects made by `core.instances` are those that the models make themselves."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model

from core import instances
from merchants.models import ApiKey, Merchant
from payments.intents.models import Attempt, PaymentIntent
from tests.core.test_rows import FOUND, WRITTEN
from tests.core.test_rows import shown as columns_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("core", "events", "ledger", "merchants", "payments", "testbank", "vault", "webhooks")
MODELS = tuple(dict.fromkeys((*WRITTEN, *FOUND, ApiKey)))


def shown(row: Model) -> tuple[Any, ...]:
    state = row._state
    return columns_of(row), state.adding, state.db, state.fields_cache


def values_of(model: type[Model]) -> dict[str, Any]:
    """Return a value of its own for each column."""
    return {one.attname: object() for one in model._meta.concrete_fields}


@pytest.mark.parametrize("model", MODELS)
def test_a_new_object_has_the_models_defaults(model: type[Model]) -> None:
    require_made_alike(model, {})


@pytest.mark.parametrize("model", MODELS)
def test_a_new_object_has_the_values_that_are_given(model: type[Model]) -> None:
    require_made_alike(model, values_of(model))


def require_made_alike(model: type[Model], values: dict[str, Any]) -> None:
    assert shown(instances.new(model, **values)) == shown(model(**values))


@pytest.mark.parametrize("model", MODELS)
def test_the_object_of_a_stored_row_is_the_models(model: type[Model]) -> None:
    values = values_of(model)

    ours = instances.stored(model, list(values.values()), using="default")

    assert shown(ours) == shown(model.from_db("default", list(values), list(values.values())))


def test_a_relation_may_be_given_as_an_object() -> None:
    merchant = Merchant(id="mer_1")

    intent = instances.new(PaymentIntent, merchant=merchant, id="pi_1")

    assert shown(intent) == shown(PaymentIntent(merchant=merchant, id="pi_1"))
    assert intent.merchant is merchant
    assert intent.merchant_id == "mer_1"


def test_a_default_that_can_be_changed_is_made_for_each() -> None:
    first, second = instances.new(PaymentIntent), instances.new(PaymentIntent)

    first.metadata["a"] = "b"

    assert second.metadata == {}


def test_a_name_that_is_no_column_is_refused() -> None:
    with pytest.raises(TypeError, match="no column 'amont'"):
        instances.new(PaymentIntent, amont=1)


@pytest.mark.parametrize("count", [-1, 1])
def test_a_row_with_too_few_or_too_many_values_is_refused(count: int) -> None:
    values = [None] * (len(Attempt._meta.concrete_fields) + count)

    with pytest.raises(ValueError, match="zip"):
        instances.stored(Attempt, values, using="default")


def test_a_model_with_a_way_of_its_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Merchant, "__init__", lambda self: None)

    with pytest.raises(ImproperlyConfigured):
        instances._shape.__wrapped__(Merchant)


def test_a_column_that_the_kept_shape_does_not_know_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plant one in the model after its columns were looked up, as a forgotten cache would."""
    require_made_alike(PaymentIntent, {})
    kept = instances._shape(PaymentIntent)
    constants = {name: one for name, one in kept.constants.items() if name != "description"}
    monkeypatch.setattr(instances, "_shape", lambda _model: kept._replace(constants=constants))

    with pytest.raises(AssertionError):
        require_made_alike(PaymentIntent, {})


def test_every_model_that_is_made_so_is_compared() -> None:
    made = {
        name
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        for name in re.findall(r"instances\.new\(\s*(\w+)", file.read_text())
    }
    known = {model.__name__ for model in apps.get_models()}

    assert len(made) >= 7
    assert made <= known
    assert made <= {model.__name__ for model in MODELS}
