"""The addresses of pages about a colleague: a keyed hash of their place in the team.

Places are numbered through all teams, and a number in an address would say how many there are.
"""

from django.utils.crypto import constant_time_compare, salted_hmac

from merchants.models import Member

LETTERS = 32


def of(place: Member) -> str:
    """Return the part of an address that stands for a place in a team."""
    text = f"{place.merchant_id} {place.pk}"
    return salted_hmac(__name__, text, algorithm="sha256").hexdigest()[:LETTERS]


def find(member: Member, address: str) -> Member | None:
    """Return the place in the member's own team that an address stands for; None without one."""
    rows = Member.objects.for_merchant(member.merchant).select_related("user")
    return next((row for row in rows if constant_time_compare(of(row), address)), None)
