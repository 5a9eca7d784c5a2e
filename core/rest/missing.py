"""Ids that are not there: which kind of object was looked for, and which kind the id is of."""

from django.conf import settings
from django.db.models import Model

from core.errors import ResourceMissing
from core.rest import resources


def described(refusal: ResourceMissing) -> ResourceMissing:
    """Return the refusal in the words of the API: the kind of object, and what may be wrong."""
    if refusal.wanted is None:
        return refusal
    message = f"There is no {_name(refusal.wanted)} with this id."
    described = ResourceMissing(message, param=refusal.param)
    described.advice = _advice(refusal.wanted, refusal.given.partition("_")[0])
    return described


def _name(model: type[Model]) -> str:
    """Return what `object` shows for a model's rows, or its name where that is no resource."""
    for name, kind in resources.kinds().items():
        if kind.rows.model is model:
            return name
    return str(model._meta.verbose_name)


def _advice(model: type[Model], prefix: str) -> str:
    kinds = resources.kinds()
    own = kinds.get(_name(model))
    if own is None or prefix == own.prefix:
        return _reach()
    right = f"A {_name(model)}'s id begins with {own.prefix}_."
    others = [name for name, kind in kinds.items() if kind.prefix == prefix]
    return f"The id is of another kind: {others[0]}. {right}" if others else right


def _reach() -> str:
    """Say which objects a key finds."""
    places = (
        "this live installation, and none of a sandbox.",
        "this sandbox, and none of a live installation.",
    )
    return f"Your key finds the objects of its own account in {places[not settings.LIVEMODE]}"
