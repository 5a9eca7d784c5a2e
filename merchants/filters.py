"""Filters of the list of request logs (contract 2, Request log)."""

from core.rest.filters import Equal, Filters, Instants


class RequestLogFilters(Filters):
    status = Equal("status", form="[1-9][0-9]{2}")
    method = Equal("method", form="[A-Z]{1,16}")
    path = Equal("path")
    object_id = Equal("object_id")
    created = Instants("created_at")
