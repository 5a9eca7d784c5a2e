"""Acts in two pages: a form asks, and a second page says what happens before anything is done.

Both pages have one token and one address. The first sending of the form writes the change down,
notes its facts and takes all of it back; the second page shows them and brings them along, signed.
Its sending makes the same change, and goes on only if the facts are the ones that were shown.
Otherwise the second page comes again and says what has changed.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django import forms
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from core import money
from merchants.models import Member
from panel import once
from panel.merchants import acts
from panel.merchants.pages import show

# Of the second page: the facts that it shows.
SEEN = "seen"
Facts = dict[str, Any]


class NotAgreed(Exception):
    """The person has not agreed to what would happen now.

    :param now: the facts that the second page shows.
    """

    def __init__(self, now: Facts) -> None:
        super().__init__()
        self.now = now


class Difference(NamedTuple):
    """A fact that has changed since the second page was shown, as text."""

    name: Any
    before: str
    now: str


class Agreement:
    """The facts that a person has seen on the second page; none before.

    :param template: of the second page.
    :param labels: of the facts that are agreed to, by their names; others may change. `amount` and
        `currency` are among all facts.
    """

    def __init__(
        self, request: HttpRequest, member: Member, template: str, labels: Mapping[str, Any]
    ) -> None:
        self._request, self._template, self._labels = request, template, labels
        self._signer = Signer(salt=f"panel.two_pages {member.user_id} {request.path}")
        self.seen = self._read()

    def require(self, facts: Facts) -> None:
        """Refuse what the person has not seen.

        :raises NotAgreed: these are not the facts that the person has seen.
        """
        if self.seen is None or self._differences(facts):
            raise NotAgreed(facts)

    def answer(
        self,
        form: forms.Form,
        act: Callable[[], HttpResponse],
        shown: Callable[[Facts], Mapping[str, Any]],
    ) -> HttpResponse | None:
        """Act, or show the second page; None where the form has to be shown.

        :param act: acts once for the form's token, and asks `require` before it commits.
        :param shown: makes of the facts what else the second page shows.
        """
        if acts.CHANGE in self._request.POST:
            return None

        def answered() -> HttpResponse:
            try:
                return act()
            except NotAgreed as refused:
                return self._second_page(form, refused.now, shown(refused.now))

        return acts.done(self._request, form, answered)

    def _second_page(
        self, form: forms.Form, facts: Facts, shown: Mapping[str, Any]
    ) -> HttpResponse:
        changed = [] if self.seen is None else self._differences(facts)
        page = {
            **shown,
            "facts": facts,
            "changed": changed,
            "written": _text(facts["amount"], facts),
            "fields": [(name, form.data.get(name, "")) for name in form.fields],
            "seen": self._signer.sign_object(self._agreed(facts)),
            "token": once.token(self._request),
        }
        return show(self._request, self._template, page, status=409 if changed else 200)

    def _agreed(self, facts: Facts) -> Facts:
        """Return the facts that are agreed to: the page carries no others, which all could read."""
        return {name: facts.get(name) for name in self._labels}

    def _differences(self, now: Facts) -> list[Difference]:
        before = self.seen or {}
        return [
            Difference(label, _text(before.get(name), now), _text(now.get(name), now))
            for name, label in self._labels.items()
            if before.get(name) != now.get(name)
        ]

    def _read(self) -> Facts | None:
        try:
            found: Facts = self._signer.unsign_object(self._request.POST.get(SEEN, ""))
        except BadSignature:
            return None
        return found


def _text(value: Any, facts: Facts) -> str:
    """Return a fact as text: amounts are integers in minor units."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return money.written(value, facts["currency"]) if isinstance(value, int) else str(value or "–")
