"""The account and its request logs as resources."""

from api import schema
from core.rest.resources import Resource

ACCOUNT = Resource(
    path="merchant",
    scope="merchant",
    tag=("Account", "The account that the key belongs to."),
    schemas=schema.MERCHANTS,
)
REQUEST_LOGS = Resource(
    path="request_logs",
    scope="request_logs",
    tag=("Request logs", "What you asked, and what you were answered."),
    schemas=schema.LOGS,
)
