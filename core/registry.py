"""Registries: what the apps give to a room below them in `AppConfig.ready()`."""

from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

Entry = TypeVar("Entry")


class Registry(dict[str, Entry]):
    """Entries by name, in the order of `INSTALLED_APPS`.

    It is complete once all apps are ready: read it when it is needed, never at import.

    :param noun: what an entry is, as a process that does not start says it.
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun

    def add(self, name: str, entry: Entry) -> None:
        """Add an entry.

        :raises ImproperlyConfigured: there is one of this name.
        """
        if name in self:
            raise ImproperlyConfigured(f"The {self.noun} {name} is registered twice.")
        self[name] = entry
