"""The list engine as Django REST framework knows it: filter backends, then a pagination class.

`core.rest.lists` does the work and knows no request, so that the panel calls the same.
"""

from typing import Any

from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from core.querysets import MerchantRows
from core.rest import lists
from core.rest.lists import Rows, Source


class ListFilters(DjangoFilterBackend):
    """Filters and search of the action's list (spec: List conventions 5 and 6).

    The view's `filterset_class` filters, and its form refuses what it does not understand.
    """

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Rows:
        """Return the rows that match.

        :param queryset: a merchant's rows; any other of its rows of this table may be a cursor.
        :raises DomainError: as `lists.page` does.
        """
        filters = self.get_filterset(request, queryset, view)
        source = Source(queryset, view.lists[view.action], _all_rows(queryset), filters)
        [view.listing] = lists.listings([source], request.query_params)
        return view.listing.matching()


class CursorPagination(BasePagination):
    """Pages between ids: `starting_after`, `ending_before`, `limit` (spec: List conventions 1)."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        """Return the page's rows of what `ListFilters` found."""
        self.page = lists.paged([(view.listing, queryset)], url=request.path)
        return list(self.page.rows)

    def get_paginated_response(self, data: Any) -> Response:
        """Return the list envelope around rendered rows."""
        return Response(self.page.envelope(data))


def _all_rows(rows: MerchantRows) -> MerchantRows:
    """Return all of the merchant's rows of the table: deleted ones, those of another object."""
    return rows.model.objects.for_merchant(rows.merchant)
