"""The wire to a bank: bytes sent once and received, and the forms that they come in."""

from acquirers.wire.http import NoAnswer, NotSent, Received, get, new_session, post
from acquirers.wire.json import get_json, post_json

__all__ = [
    "NoAnswer", "NotSent", "Received", "get", "get_json", "new_session", "post", "post_json",
]  # fmt: skip
