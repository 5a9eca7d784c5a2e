"""Rights of operators: who may give which, and to whom.

They come by groups alone, and the groups by migrations. An operator cannot give a right that they
do not have, change one who may do more, or change their own rights; only the machine's command
line makes a person who may do everything (`createsuperuser`, docs/operate/desk.md).
"""

from collections.abc import Iterable

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

from core.errors import ParameterInvalid
from merchants.models import User


class OperatorRefused(ParameterInvalid):
    """An operator's rights are not changed; the text says why. No client of the API meets it."""


def require_not_above(by: User, person: User) -> None:
    """Refuse an act on oneself, and on an operator who may do what `by` may not.

    :raises OperatorRefused: it is one of these.
    """
    if by.pk == person.pk:
        raise OperatorRefused("Nobody does this to themselves: ask another operator.")
    if by.is_superuser:
        return
    if person.is_superuser or rights_of(person) - rights_of(by):
        raise OperatorRefused("They may do more than you: ask an operator who may do as much.")


def groups_to_give(by: User) -> list[str]:
    """Return the names of the groups that have no right that `by` does not have."""
    everything = Group.objects.order_by("name").prefetch_related("permissions")
    own = rights_of(by)
    return [
        group.name
        for group in everything
        if by.is_superuser or {one.pk for one in group.permissions.all()} <= own
    ]


def names_of(person: User) -> list[str]:
    """Return the names of the groups that a person is in."""
    return list(person.groups.order_by("name").values_list("name", flat=True))


def seen_of(person: User) -> str:
    """Return what stands for the groups of a person in a form."""
    return ",".join(names_of(person))


def watchers() -> list[str]:
    """Return the addresses of superusers: they get a mail of each change of rights."""
    rows = User.objects.filter(is_active=True, is_staff=True, is_superuser=True)
    return list(rows.order_by("email").values_list("email", flat=True))


def require_given(by: User, groups: Iterable[str]) -> list[str]:
    """:raises OperatorRefused: there is no such group, or it has rights that `by` does not have."""
    names = sorted(set(groups))
    if not set(names) <= set(groups_to_give(by)):
        text = "Nobody gives a right that they do not have: choose other groups."
        raise OperatorRefused(text, param="groups")
    return names


def rights_of(person: User) -> set[int]:
    """Return the keys of a person's permissions, also of one who is switched off."""
    held = Permission.objects.filter(Q(group__user=person) | Q(user=person))
    return set(held.values_list("pk", flat=True))
