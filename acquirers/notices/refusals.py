"""Refusals of handlers: a notice that cannot be applied stays, and is tried again."""


class NotKnown(Exception):
    """The notice is about something that we do not know, or not yet.

    Later notices about the same object do not wait for it: one of them may bring what is missing.
    """
