"""The way into a team: the link of a mail, and the page on which its invitation is accepted.

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
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from core.names import email_key
from merchants import invitations
from merchants.invitations import InvitationUnusable
from merchants.models import Invitation, User
from panel.merchants.overview import ROLES
from panel.merchants.team_words import UNUSABLE

# In the session, which is sealed.
TOKEN = "invitation"  # noqa: S105  # A name, not a token.


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
        invitations.found(token)
    except InvitationUnusable as problem:
        return _unusable(request, problem)
    request.session[TOKEN] = token
    return HttpResponseRedirect(reverse("account_invitation"))


@require_http_methods(["GET", "HEAD", "POST"])
def accept(request: HttpRequest) -> HttpResponse:
    """Show an invitation to its person; a POST accepts it, with a new account or one's own."""
    token = request.session.get(TOKEN, "")
    try:
        invitation = invitations.found(token)
        if request.user.is_authenticated:
            return _with_account(request, invitation, token)
        if User.objects.filter(email=invitation.email).exists():
            return _sign_in_first(request, invitation)
        return _as_new(request, invitation, token)
    except InvitationUnusable as problem:
        return _unusable(request, problem)


def _with_account(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    user: Any = request.user
    if email_key(user.email) != email_key(invitation.email):
        raise InvitationUnusable("other_address")
    if request.method != "POST":
        return _shown(request, invitation)
    member = invitations.accept(token, user, session_key=request.session.session_key)
    request.session.pop(TOKEN, None)
    messages.success(request, gettext("You are in the team."))
    return _see_other(reverse("panel:overview", args=[member.merchant_id]))


def _as_new(request: HttpRequest, invitation: Invitation, token: str) -> HttpResponse:
    typed = request.POST if request.method == "POST" else None
    form = NewAccountForm(typed, email=invitation.email)
    if not form.is_valid():
        return _shown(request, invitation, status=400 if form.is_bound else 200, form=form)
    member = invitations.accept_as_new(token, make_password(form.cleaned_data["password"]))
    request.session.pop(TOKEN, None)
    messages.success(request, gettext("Your account is open. Sign in with your new password."))
    home = reverse("panel:overview", args=[member.merchant_id])
    return _see_other(f"{reverse('account_login')}?next={home}")


def _sign_in_first(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    page = reverse("account_invitation")
    way = f"{reverse('account_login')}?next={page}"
    if request.method == "POST":
        return _see_other(way)
    return _shown(request, invitation, sign_in=way)


def _shown(
    request: HttpRequest, invitation: Invitation, *, status: int = 200, **shown: Any
) -> HttpResponse:
    facts = {"invitation": invitation, "role": ROLES[invitation.role], **shown}
    return render(request, "account/invitation.html", facts, status=status)


def _unusable(request: HttpRequest, problem: InvitationUnusable) -> HttpResponse:
    status = HTTPStatus.NOT_FOUND if problem.why == "unknown" else HTTPStatus.GONE
    shown = {"why": problem.why, "text": UNUSABLE[problem.why]}
    return render(request, "account/invitation_unusable.html", shown, status=status)


def _see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response
