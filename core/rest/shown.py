"""Objects of the API that are read from one row: what renders them describes them too."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from django.conf import settings

from core import clock
from core.rest import schema
from core.rest.components import Shape

Row = TypeVar("Row")


class Field(NamedTuple):
    """A field that is not the row's column of its name.

    :param read: the name of the column, or what makes the value of the row.
    """

    shape: Shape
    read: str | Callable[[Any], Any]


class Shown(Generic[Row]):
    """An object of the API, as it is described (`schema`) and as a row is shown (a call).

    It also has the fields of every object: `id object created livemode` (contract 1).

    :param name: the value of its `object`.
    :param prefix: the beginning of its id, `re` of `re_…`.
    :param fields: each by its shape, read from the column of its name, or as a `Field`.
    """

    def __init__(
        self, name: str, prefix: str, description: str, fields: Mapping[str, Shape | Field]
    ) -> None:
        read = {
            key: field if isinstance(field, Field) else Field(field, key)
            for key, field in fields.items()
        }
        shapes = {key: field.shape for key, field in read.items()}
        self.name = name
        self.schema = schema.resource(name, prefix, description, shapes)
        self._fields = [
            (key, attrgetter(field.read) if isinstance(field.read, str) else field.read)
            for key, field in read.items()
        ]

    def __call__(self, row: Row) -> dict[str, Any]:
        """Return a row as the API shows it; answers and event bodies hold the same."""
        common: Any = row
        return {
            "id": common.id,
            "object": self.name,
            **{key: read(row) for key, read in self._fields},
            "created": clock.unix(common.created_at),
            "livemode": settings.LIVEMODE,
        }
