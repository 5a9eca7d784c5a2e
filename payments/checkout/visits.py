"""A payer's visit to a session's page: its language, and the pages that are shown to it."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils.translation.trans_real import (
    get_supported_language_variant,
    parse_accept_lang_header,
)

from payments.checkout import card_page, links, networks
from payments.checkout.models import CheckoutSession
from payments.checkout.states import Locale


@dataclass(frozen=True, slots=True)
class Visit:
    """A payer's request to a page of a session."""

    request: HttpRequest
    session: CheckoutSession

    @property
    def locale(self) -> str:
        """Return the language that the payer has chosen by the page's link, empty if none."""
        chosen = self.request.GET.get("locale", "")
        return chosen if chosen in card_page.LANGUAGES else ""

    @property
    def language(self) -> str:
        """Return the payer's choice, else the session's language, else the browser's."""
        if self.locale or self.session.locale != Locale.AUTO:
            return self.locale or self.session.locale
        header = self.request.headers.get("Accept-Language", "")
        for code, _weight in parse_accept_lang_header(header):
            try:
                return get_supported_language_variant(code)
            except LookupError:
                continue
        return settings.LANGUAGE_CODE

    @property
    def network(self) -> str | None:
        """Return the network that the payer comes from, None if it is not known."""
        return networks.of_payer(self.request)

    def anew(self) -> "Visit":
        """Return the same with session and payment as they are now."""
        return Visit(self.request, sessions().get(id=self.session.id))

    def see(self, path: str) -> HttpResponse:
        """Lead on to a path of ours by GET."""
        response = HttpResponseRedirect(f"{path}?locale={self.locale}" if self.locale else path)
        response.status_code = 303
        return response

    def show(self, name: str, *, status: int = 200, **facts: Any) -> HttpResponse:
        """Return a page of the session."""
        shown = {**card_page.facts_of(self.session, locale=self.locale), **facts}
        return page_of(name, shown, status)

    def see_page(self) -> HttpResponse:
        """Lead on to the session's page, which says how it stands."""
        return self.see(links.path(self.session.id))


def sessions() -> QuerySet[CheckoutSession]:
    """Return sessions with all that their pages show."""
    return CheckoutSession.objects.select_related("merchant", "intent", "customer")


def page_of(name: str, shown: dict[str, Any], status: int) -> HttpResponse:
    """Return a page, rendered without the request: no cookie is read for it."""
    text = render_to_string(f"payments/checkout/{name}.html", shown)
    return HttpResponse(text, status=status)  # Its headers are those of `page_headers`.
