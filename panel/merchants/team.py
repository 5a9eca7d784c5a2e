"""The team: its members and open invitations, and the pages that change it."""

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.core.mail import EmailMultiAlternatives
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from core import mail
from merchants import accounts, invitations, second_factors, team
from merchants.invitations import Invited
from merchants.models import Invitation, Member
from panel import once
from panel.merchants import acts, listing, team_addresses
from panel.merchants.overview import ROLES
from panel.merchants.pages import page, proof_required, show
from panel.merchants.team_forms import RIGHTS, ConfirmForm, InviteForm, RoleForm

ASK = "panel/team/ask.html"


@page()
def listed(request: HttpRequest, member: Member) -> HttpResponse:
    """Show who is in the team, and who was invited; up to 100 places in all."""
    rows = Member.objects.for_merchant(member.merchant).select_related("user")
    members = list(rows.order_by("created_at", "pk"))
    protected = second_factors.people_with_one([row.user_id for row in members])
    now = timezone.now()
    shown = {
        "rows": [
            {
                "member": row,
                "role": ROLES[row.role],
                "has_factor": row.user_id in protected,
                "address": team_addresses.of(row),
            }
            for row in members
        ],
        "invitations": [
            {"invitation": row, "role": ROLES[row.role], "is_expired": row.expires_at <= now}
            for row in invitations.open_invitations(member.merchant)
        ],
        "rights": [(ROLES[role], may) for role, may in RIGHTS.items()],
        "without_factor": sum(row.user_id not in protected for row in members),
        "is_always_required": second_factors.is_required_of(request.user),
    }
    return show(request, "panel/team/list.html", shown)


@page("POST")
@proof_required
def invite(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask for an address and a role, and send an invitation."""
    form = InviteForm(acts.sent(request), initial={"role": Member.Role.SUPPORT})
    made: list[Invited] = []

    def change() -> None:
        asked = form.cleaned_data
        made.append(invitations.invite(member, email=asked["email"], role=asked["role"]))
        messages.success(request, gettext("The invitation is on its way."))

    answer = _acted(request, member, change, form=form, done=_list(member))
    for one in made if answer else ():
        _send(one)
    if answer:
        return answer
    return acts.ask(request, "panel/team/invite.html", form, back=_list(member))


@page("POST")
@proof_required
def resend_invitation(request: HttpRequest, member: Member, invitation: str) -> HttpResponse:
    """Send an invitation again, with a new link: the old one ends."""
    row = _open_invitation(member, invitation)
    if row is None:
        return _gone(request, member)
    form = ConfirmForm(acts.sent(request))
    made: list[Invited] = []

    def change() -> None:
        made.append(invitations.invite(member, email=row.email, role=row.role))
        messages.success(request, gettext("The invitation is on its way."))

    answer = _acted(request, member, change, form=form, done=_list(member))
    for one in made if answer else ():
        _send(one)
    shown = {
        "title": gettext("Send the invitation to %(email)s again?") % {"email": row.email},
        "consequence": gettext("They get a new link, for seven days. The one of before ends."),
        "button": gettext("Send again"),
    }
    return answer or acts.ask(request, ASK, form, back=_list(member), **shown)


@page("POST")
@proof_required
def withdraw_invitation(request: HttpRequest, member: Member, invitation: str) -> HttpResponse:
    """Ask, and end an open invitation."""
    row = _open_invitation(member, invitation)
    if row is None:
        return _gone(request, member)
    form = ConfirmForm(acts.sent(request))

    def change() -> None:
        invitations.withdraw(member, row)
        messages.success(request, gettext("The invitation was withdrawn."))

    answer = _acted(request, member, change, form=form, done=_list(member))
    shown = {
        "title": gettext("Withdraw the invitation to %(email)s?") % {"email": row.email},
        "consequence": gettext("The link in their mail stops working at once."),
        "button": gettext("Withdraw"),
        "is_danger": True,
    }
    return answer or acts.ask(request, ASK, form, back=_list(member), **shown)


@page("POST")
@proof_required
def change_role(request: HttpRequest, member: Member, person: str) -> HttpResponse:
    """Ask for another role of a member, oneself too."""
    row = team_addresses.find(member, person)
    if row is None:
        return _gone(request, member)
    form = RoleForm(acts.sent(request), initial={"role": row.role})
    is_oneself = row.pk == member.pk

    def change() -> None:
        key = request.session.session_key
        if team.change_role(member, row, form.cleaned_data["role"], session_key=key):
            messages.success(request, gettext("The role was changed."))

    # A person who is no longer an owner may not see the team.
    home = reverse("panel:overview", args=[member.merchant_id])
    answer = _acted(request, member, change, form=form, done=home if is_oneself else _list(member))
    shown = {"row": row, "is_oneself": is_oneself}
    return answer or acts.ask(request, "panel/team/role.html", form, back=_list(member), **shown)


@page("POST")
@proof_required
def remove_member(request: HttpRequest, member: Member, person: str) -> HttpResponse:
    """Ask, and take a member out of the team."""
    row = team_addresses.find(member, person)
    if row is None:
        return _gone(request, member)
    if row.pk == member.pk:
        return HttpResponseRedirect(reverse("panel:leave_team", args=[member.merchant_id]))
    form = ConfirmForm(acts.sent(request))

    def change() -> None:
        team.remove(member, row)
        messages.success(request, gettext("The person was removed."))

    answer = _acted(request, member, change, form=form, done=_list(member))
    shown = {
        "title": gettext("Remove %(email)s?") % {"email": row.user.email},
        "consequence": gettext(
            "They are signed out everywhere, and open invitations that they sent end. API keys that"
            " they created go on: roll those that they may know."
        ),
        "button": gettext("Remove"),
        "is_danger": True,
    }
    return answer or acts.ask(request, ASK, form, back=_list(member), **shown)


@page("POST")
@proof_required
def leave_team(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask, and take oneself out of the team."""
    form = ConfirmForm(acts.sent(request))

    def change() -> None:
        team.leave(member, session_key=request.session.session_key)
        messages.success(request, gettext("You have left the team."))

    answer = _acted(request, member, change, form=form, done=reverse("panel:home"))
    shown = {
        "title": gettext("Leave the team of %(merchant)s?") % {"merchant": member.merchant.name},
        "consequence": gettext("Only an owner can let you in again."),
        "button": gettext("Leave"),
        "is_danger": True,
    }
    return answer or acts.ask(request, ASK, form, back=reverse("mfa_index"), **shown)


@page("POST")
@proof_required
def require_second_factor(request: HttpRequest, member: Member) -> HttpResponse:
    """Ask, and let the team need second factors, or not any more."""
    is_required = member.merchant.second_factor_required
    form = ConfirmForm(acts.sent(request))
    wanted = not is_required
    if form.is_bound:
        # The page's own question is answered, not the opposite one, if somebody was faster.
        wanted = request.POST.get("required") == "yes"
        if wanted and not second_factors.has_one(request.user):
            form.add_error(None, gettext("Add a second factor to your own account first."))

    def change() -> None:
        accounts.change(member.merchant, {"second_factor_required": wanted})
        messages.success(request, gettext("The change was saved."))

    answer = _acted(request, member, change, form=form, done=_list(member))
    shown = {"is_required": is_required, "wanted": "yes" if wanted else "no"}
    return answer or acts.ask(request, "panel/team/factor.html", form, back=_list(member), **shown)


# --- What the pages share ---------------------------------------------------------------------


def _acted(
    request: HttpRequest,
    member: Member,
    change: Callable[[], None],
    *,
    form: RoleForm | ConfirmForm,
    done: str,
) -> HttpResponse | None:
    """Make the change; None if there is none to make, or it was refused and the form says why."""

    def act() -> HttpResponse:
        return once.act(request, member, change, subject=member.merchant_id, done=done)

    return acts.done(request, form, act)


def _list(member: Member) -> str:
    return reverse("panel:team", args=[member.merchant_id])


def _open_invitation(member: Member, invitation: str) -> Invitation | None:
    try:
        found: Invitation = listing.find(team.open_invitations(member.merchant), invitation)
    except Http404:
        return None
    return found


def _gone(request: HttpRequest, member: Member) -> HttpResponse:
    """Answer for a member who is gone: as before to the form that took them out, sent again."""

    def change() -> None:
        raise Http404

    if request.method != "POST":
        raise Http404
    return once.act(request, member, change, subject=member.merchant_id, done=_list(member))


def _send(made: Invited) -> None:
    """Send an invitation in the language of the page, the inviter's, when the answer has left."""
    invitation = made.invitation
    path = reverse("account_invitation_link", args=[made.token])
    shown = {
        "invitation": invitation,
        "merchant": invitation.merchant.name,
        "by": invitation.invited_by.email,
        "role": ROLES[invitation.role],
        "link": f"{settings.PANEL_URL}{path}",
        "panel_url": settings.PANEL_URL,
    }
    subject = _("Invitation to the team of %(merchant)s") % {"merchant": invitation.merchant.name}
    text = render_to_string("panel/mails/invitation.txt", shown)
    message = EmailMultiAlternatives(" ".join(subject.split()), text, None, [invitation.email])
    message.attach_alternative(render_to_string("panel/mails/invitation.html", shown), "text/html")
    mail.send_when_answered(message)
