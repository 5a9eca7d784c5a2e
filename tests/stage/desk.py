"""The operators' desk as the tests open it."""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from merchants.models import User
from tests.stage.teams import let_in

PASSWORD = "a long enough password"
ARGUMENT = re.compile(r"<(?:\w+:)?\w+>")
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


class Desk:
    """The browser of an operator who has just typed their password again."""

    def __init__(self, email: str = "operator@example.com", *permissions: str) -> None:
        self.person = User.objects.create_user(email, PASSWORD, is_staff=True)
        self.person.is_superuser = not permissions
        self.person.save()
        for name in permissions:
            label, _, codename = name.partition(".")
            wanted = Permission.objects.get(content_type__app_label=label, codename=codename)
            self.person.user_permissions.add(wanted)
        self.http = let_in(Client(), self.person)

    def get(self, name: str, *arguments: Any, **query: Any) -> Any:
        return self.http.get(address(name, *arguments), query)

    def send(self, name: str, *arguments: Any, form: dict[str, Any] | None = None) -> Any:
        """Open a page, and send its form with what was typed, and what is hidden in it."""
        hidden = dict(HIDDEN.findall(self.get(name, *arguments).content.decode()))
        return self.post(name, *arguments, form={**hidden, **(form or {})})

    def post(self, name: str, *arguments: Any, form: dict[str, Any]) -> Any:
        return self.http.post(address(name, *arguments), form)

    def change(self, merchant_id: str, kind: str, why: str = "They asked.", **typed: Any) -> Any:
        """Type a change of a merchant, look at it, and confirm it."""
        shown = self.post("desk_merchant_change", merchant_id, kind, form=typed)
        if shown.status_code != 200 or b'name="seen"' not in shown.content:
            return shown
        seen = dict(HIDDEN.findall(shown.content.decode()))["seen"]
        form = {**typed, "seen": seen, "why": why}
        return self.post("desk_merchant_change", merchant_id, kind, form=form)


def address(name: str, *arguments: Any) -> str:
    return reverse(f"admin:{name}", args=arguments)


def table(patterns: list[Any], before: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Yield each page of a table of URLs with the address at which it is tried."""
    for one in patterns:
        address = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from table(one.url_patterns, address)
        else:
            yield ARGUMENT.sub("1", address), one
