"""Objects of our models, made without what Django does for each anew.

For what is done for every payment and every read, and nothing else (docs/adr/0031). `Model()` asks
each of its fields by itself, some forty of a payment; here a model's columns and defaults are
looked up once. No signal is sent.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.db.models.base import ModelState

M = TypeVar("M", bound=Model)


def new(model: type[M], **values: Any) -> M:
    """Return an object that is not stored yet, as `model(**values)` does.

    :raises TypeError: the model has no column or relation of a name.
    """
    shape = _shape(model)
    row = model.__new__(model)
    row._state = ModelState()
    held = row.__dict__
    held.update(shape.constants)
    for name, value in values.items():
        if name in shape.columns:
            held[name] = value
        elif name in shape.relations:
            setattr(row, name, value)
        else:
            raise TypeError(f"{model.__name__} has no column {name!r}")
    for column, default in shape.made:
        if column not in held:
            held[column] = default()
    return row


def stored(model: type[M], values: Sequence[Any], *, using: str) -> M:
    """Return the object of a stored row, as `model.from_db` does.

    :param values: of all concrete fields, in their order.
    """
    row = model.__new__(model)
    row._state = ModelState()
    row._state.adding, row._state.db = False, using
    row.__dict__.update(zip(_shape(model).columns, values, strict=True))
    return row


class _Shape(NamedTuple):
    """A model's columns in their order, defaults that never differ, those made anew, relations."""

    columns: dict[str, None]
    constants: dict[str, Any]
    made: list[tuple[str, Callable[[], Any]]]
    relations: frozenset[str]


@cache
def _shape(model: type[Model]) -> _Shape:
    """:raises ImproperlyConfigured: the model makes its objects in a way of its own."""
    if model.__init__ is not Model.__init__ or model.from_db.__func__ is not Model.from_db.__func__:  # type: ignore[attr-defined]
        raise ImproperlyConfigured(f"{model.__name__} makes its objects itself.")
    fields: list[Any] = list(model._meta.concrete_fields)
    made = [field for field in fields if callable(field.default) and field.has_default()]
    return _Shape(
        columns=dict.fromkeys(field.attname for field in fields),
        constants={one.attname: one.get_default() for one in fields if one not in made},
        made=[(field.attname, field.get_default) for field in made],
        relations=frozenset(field.name for field in fields if field.is_relation),
    )
