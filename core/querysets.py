"""The one way to a merchant's rows."""

from typing import Any, Self

from django.db.models import Manager, Model, QuerySet

from core.errors import ResourceMissing


class MerchantRows(QuerySet[Any]):
    """Rows that belong to merchants; a foreign id is as unknown as a made-up one (contract 4).

    `merchant` is their owner, None until `for_merchant` was called. Filters that name another
    object look for it among the same merchant's.
    """

    merchant: Model | None = None

    def for_merchant(self, merchant: Model) -> Self:
        rows = self.filter(merchant=merchant)
        rows.merchant = merchant
        return rows

    @property
    def is_whole(self) -> bool:
        """Return whether these are all rows of the merchant, with none of them left out."""
        return self.merchant is not None and len(self.query.where) == 1

    def _clone(self) -> Self:
        clone = super()._clone()  # type: ignore[misc]
        clone.merchant = self.merchant
        return clone

    def find(self, row_id: str, *, param: str | None = None) -> Any:
        """Return the row.

        :raises ResourceMissing: the queryset has no such row.
        """
        # A path may hold a NUL, which PostgreSQL's driver refuses with a crash.
        row = self.filter(id=row_id).first() if "\x00" not in row_id else None
        if row is None:
            raise ResourceMissing(param=param, wanted=self.model, given=row_id)
        return row

    def lock(self, row_id: str, *, param: str | None = None) -> Any:
        """Return the row, locked until the transaction ends; decide on this one only.

        :raises ResourceMissing: the queryset has no such row.
        """
        return self.select_for_update(of=("self",)).find(row_id, param=param)


_Manager = Manager.from_queryset(MerchantRows)


class MerchantManager(_Manager):
    """Gives a model its `MerchantRows`.

    Named, where `MerchantRows.as_manager()` is not: mypy would lose it between two runs, and fail
    once the file of a model is changed.
    """
