"""The way into a team, or to the operators: the link of a mail, and the page that accepts.

The token leaves the address at once, for the session: no page repeats it and no history has it.
"""

from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from core import acts
from core.names import email_key
from merchants import invitations, operator_rights, operators
from merchants.invitations import InvitationUnusable
from merchants.models import Invitation, OperatorInvitation, User
from panel import house_mails
from panel.merchants.overview import ROLES

# In the session, which is sealed.
TOKEN = "invitation"  # noqa: S105  # A name, not a token.
UNUSABLE: dict[str, str | Promise] = {
    "unknown": _("There is no such invitation. Open the link of the mail whole."),
    "used": _("This invitation was accepted already. Sign in to open the panel."),
    "withdrawn": _("This invitation was withdrawn, or a newer one was sent."),
    "expired": _("This invitation has expired. Ask for another one."),
    "other_address": _("This invitation is for another e-mail address than yours."),
    "has_account": _("You have an account already. Sign in, then open the invitation again."),
    "in_team": _("You are in this team already."),
}


class NewAccountForm(forms.Form):
    """The password of an account that is about to be opened."""

    password = forms.CharField(
        label=_("Choose a password"),
        max_length=128,
        strip=False,
        help_text=_("At least 12 characters. You sign in with it from now on."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, typed: Any, *, email: str) -> None:
        super().__init__(typed)
        self._email = email

    def clean_password(self) -> str:
        """Return the password, if it is good enough."""
        typed: str = self.cleaned_data["password"]
        validate_password(typed, User(email=self._email))
        return typed


@csrf_exempt  # Nothing is changed here; a wrong method is a 405.
@require_safe
def follow(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token of a mail's link along, and lead to the page that accepts."""
    try:
        _found(token)
    except InvitationUnusable as problem:
        return _unusable(request, problem)
    request.session[TOKEN] = token
    return HttpResponseRedirect(reverse("account_invitation"))


@require_http_methods(["GET", "HEAD", "POST"])
def accept(request: HttpRequest) -> HttpResponse:
    """Show an invitation to its person; a POST accepts it, with a new account or one's own."""
    token = request.session.get(TOKEN, "")
    try:
        invitation = _found(token)
        if request.user.is_authenticated:
            return _with_account(request, invitation, token)
        if User.objects.filter(email=invitation.email).exists():
            return _sign_in_first(request, invitation)
        return _as_new(request, invitation, token)
    except InvitationUnusable as problem:
        return _unusable(request, problem)


def _found(token: str) -> Invitation | OperatorInvitation:
    """Return the invitation that a token opens, to a team or to the operators."""
    try:
        return invitations.found(token)
    except InvitationUnusable as problem:
        if problem.why != "unknown":
            raise
        return operators.found(token)


def _with_account(
    request: HttpRequest, invitation: Invitation | OperatorInvitation, token: str
) -> HttpResponse:
    user: Any = request.user
    if email_key(user.email) != email_key(invitation.email):
        raise InvitationUnusable("other_address")
    if isinstance(invitation, OperatorInvitation):
        return _as_operator(request, invitation, token)
    if request.method != "POST":
        return _shown(request, invitation)
    member = invitations.accept(token, user, session_key=request.session.session_key)
    request.session.pop(TOKEN, None)
    messages.success(request, gettext("You are in the team."))
    return _see_other(reverse("panel:overview", args=[member.merchant_id]))


# A proof first: the person gets rights by it.
@acts.proof_required
def _as_operator(request: HttpRequest, invitation: OperatorInvitation, token: str) -> HttpResponse:
    if request.method != "POST":
        return _shown(request, invitation)
    user: Any = request.user
    operators.accept(token, user, session_key=request.session.session_key)
    request.session.pop(TOKEN, None)
    _tell_of_operator(user)
    messages.success(request, gettext("You are an operator now."))
    return _see_other(reverse("admin:index"))


def _tell_of_operator(user: User) -> None:
    others = [one for one in operator_rights.watchers() if one != user.email]
    house_mails.tell_of_access(user, others, house_mails.NEW_OPERATOR)


def _as_new(
    request: HttpRequest, invitation: Invitation | OperatorInvitation, token: str
) -> HttpResponse:
    typed = request.POST if request.method == "POST" else None
    form = NewAccountForm(typed, email=invitation.email)
    if not form.is_valid():
        return _shown(request, invitation, status=400 if form.is_bound else 200, form=form)
    hashed = make_password(form.cleaned_data["password"])
    if isinstance(invitation, OperatorInvitation):
        _tell_of_operator(operators.accept_as_new(token, hashed))
        home = reverse("admin:index")
    else:
        member = invitations.accept_as_new(token, hashed)
        home = reverse("panel:overview", args=[member.merchant_id])
    request.session.pop(TOKEN, None)
    messages.success(request, gettext("Your account is open. Sign in with your new password."))
    return _see_other(f"{reverse('account_login')}?next={home}")


def _sign_in_first(
    request: HttpRequest, invitation: Invitation | OperatorInvitation
) -> HttpResponse:
    page = reverse("account_invitation")
    way = f"{reverse('account_login')}?next={page}"
    if request.method == "POST":
        return _see_other(way)
    return _shown(request, invitation, sign_in=way)


def _shown(
    request: HttpRequest,
    invitation: Invitation | OperatorInvitation,
    *,
    status: int = 200,
    **shown: Any,
) -> HttpResponse:
    facts = {"invitation": invitation, **shown}
    if isinstance(invitation, Invitation):
        facts["role"] = ROLES[invitation.role]
    return render(request, "account/invitation.html", facts, status=status)


def _unusable(request: HttpRequest, problem: InvitationUnusable) -> HttpResponse:
    status = HTTPStatus.NOT_FOUND if problem.why == "unknown" else HTTPStatus.GONE
    shown = {"why": problem.why, "text": UNUSABLE[problem.why]}
    return render(request, "account/invitation_unusable.html", shown, status=status)


def _see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
