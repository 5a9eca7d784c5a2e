"""The frame of every page of the panel, as its base template reads it."""

from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import Promise

from merchants import keys
from merchants.models import Member, Merchant
from panel import look, navigation, tallies
from panel.navigation import MenuLink

# In the session, the merchant that the person saw last.
LAST_SEEN = "merchant"
# The merchants that the switch shows.
TEAMS_MAX = 50


class Frame:
    """The parts around a page; each is worked out when the template asks for it.

    Pages without a member have one as well: to sign in, one's account, and the desk.
    """

    is_sandbox = not settings.LIVEMODE

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        # The page's own decorator leaves them here (`panel.merchants.pages`).
        self.member: Member | None = getattr(request, "member", None)

    @cached_property
    def look(self) -> look.Look:
        return look.of(self._request)

    @property
    def key_prefix(self) -> str:
        return keys.prefix()

    @property
    def merchant(self) -> Merchant | None:
        return self.member.merchant if self.member else None

    @cached_property
    def zone(self) -> str:
        """The time zone of the page's merchant; on pages of one's account that of the last one."""
        if self.member:
            return self.member.merchant.timezone
        last = getattr(self._request, "session", {}).get(LAST_SEEN)
        if not last:
            return "UTC"
        mine = Merchant.objects.filter(pk=last, members__user=self._request.user.pk)
        return mine.values_list("timezone", flat=True).first() or "UTC"

    @cached_property
    def other_teams(self) -> list[Member]:
        """The person's places in the teams of other merchants, by their names."""
        if self.member is None:
            return []
        rows = Member.objects.filter(user=self._request.user.pk).exclude(pk=self.member.pk)
        return list(rows.select_related("merchant").order_by("merchant__name", "pk")[:TEAMS_MAX])

    @cached_property
    def navigation(self) -> list[tuple[str | Promise, list[MenuLink]]]:
        if self.member is None:
            return []
        counts = tallies.of(self.member).by_page
        return navigation.links(self.member, self._request.path, counts)

    @property
    def languages(self) -> list[tuple[str, Any]]:
        return settings.LANGUAGES


def frame(request: HttpRequest) -> dict[str, Frame]:
    """Give templates their frame (a context processor)."""
    return {"frame": Frame(request)}
