"""Pages of one's own account: django-allauth's, each with its row in the audit log."""

from typing import Any, ClassVar

from allauth.account import views as account
from allauth.account.decorators import reauthentication_required
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods, require_safe

from core import context
from core.context import ActorKind
from core.errors import DomainError
from merchants import audit_log, second_factors, sessions, unused_accounts
from merchants.filters import AUDIT_LOG
from merchants.models import AuditEntry, Member, User
from merchants.second_factors import has_one
from panel.audit_words import in_words
from panel.merchants import listing
from panel.merchants.overview import ROLES

TEAMS_MAX = 50


class Index(mfa.IndexView):
    """One's own account, with one's places in teams."""

    def get_context_data(self, **facts: Any) -> dict[str, Any]:
        """Return what the page shows."""
        user: Any = self.request.user
        teams = Member.objects.filter(user=user).select_related("merchant")
        rows = teams.order_by("merchant__name", "pk")[:TEAMS_MAX]
        shown = [{"merchant": row.merchant, "role": ROLES[row.role]} for row in rows]
        return super().get_context_data(**facts) | {"teams": shown}


class _Recorded:
    """A change of one's own account: it ends their other sessions, in its transaction."""

    action: ClassVar[str]
    factor: ClassVar[str | None] = None
    request: HttpRequest

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic(durable=True):
            response = super().form_valid(form)  # type: ignore[misc]  # Of the view beside it.
            user = self.changed_user()
            after = {"factor": self.factor} if self.factor else None
            audit_log.record_of_person(self.action, user, after=after)
            _end_others(self.request, user)
        return response

    def changed_user(self) -> User:
        user: Any = self.request.user
        return user


class PasswordChange(_Recorded, account.PasswordChangeView):
    """A new password for the old one; whoever has a second factor proves by it first."""

    action = "password.changed"

    @method_decorator(reauthentication_required(enabled=lambda asked: has_one(asked.user)))
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated and not request.user.has_usable_password():
            return redirect("account_reset_password")
        return super().dispatch(request, *args, **kwargs)


class PasswordReset(_Recorded, account.PasswordResetFromKeyView):
    """A new password by the link of a mail; the second factor stays as it is."""

    action = "password.changed"

    def form_valid(self, form: Any) -> HttpResponse:
        user = self.changed_user()
        context.act_as(ActorKind.USER, str(user.pk), user.email)
        response = super().form_valid(form)
        unused_accounts.come_back(user)
        return response

    def changed_user(self) -> User:
        return self.reset_user


class _AddedByCode(totp.ActivateTOTPView):
    """An app is added by one of its codes, which is worth nothing afterwards."""

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        second_factors.use_up(self.request.user, form.cleaned_data["code"])
        return response


class ActivateTotp(_Recorded, _AddedByCode):
    action, factor = "mfa.added", "totp"


class DeactivateTotp(_Recorded, totp.DeactivateTOTPView):
    action, factor = "mfa.removed", "totp"


class AddPasskey(_Recorded, webauthn.AddWebAuthnView):
    action, factor = "mfa.added", "passkey"


class RemovePasskey(_Recorded, webauthn.RemoveWebAuthnView):
    action, factor = "mfa.removed", "passkey"


class NewRecoveryCodes(_Recorded, recovery_codes.GenerateRecoveryCodesView):
    action, factor = "mfa.added", "recovery_codes"


class SignOut(account.LogoutView):
    def post(self, *args: Any, **kwargs: Any) -> HttpResponse:
        user: Any = self.request.user
        with transaction.atomic(durable=True):
            response = super().post(*args, **kwargs)
            if user.is_authenticated:
                audit_log.record_of_person("session.ended", user, after={"sessions": 1})
        return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def own_sessions(request: HttpRequest) -> HttpResponse:
    """Show where the person is signed in; a POST ends one `session`, or all others (`others`)."""
    user: Any = request.user
    key = request.session.session_key
    if request.method == "POST":
        _end(user, name=request.POST.get("session", ""), current=key)
        return redirect("account_sessions", permanent=False)
    shown = {"sessions": sessions.of(user, key)}
    return render(request, "account/sessions.html", shown)


@login_required
@require_safe
def own_activity(request: HttpRequest) -> HttpResponse:
    """Show what happened to the person's own account, the latest first."""
    user: Any = request.user
    rows = AuditEntry.objects.filter(chain=f"user:{user.pk}")
    shown: dict[str, Any] = {}
    try:
        found = listing.page(rows, request.GET, AUDIT_LOG)
        shown["page"] = found
        shown["rows"] = [{"entry": row, "words": in_words(row.action)} for row in found.rows]
    except DomainError:
        shown["problem"] = listing.NO_SUCH_PLACE
    status = 400 if "problem" in shown else 200
    return render(request, "account/activity.html", shown, status=status)


@transaction.atomic(durable=True)
def _end(user: User, *, name: str, current: str | None) -> None:
    ended = sessions.end_all_of(user, but=current) if name == "others" else sessions.end(user, name)
    if ended:
        audit_log.record_of_person("session.ended", user, after={"sessions": int(ended)})


def _end_others(request: HttpRequest, user: User) -> None:
    is_own = request.user.is_authenticated and request.user.pk == user.pk
    ended = sessions.end_all_of(user, but=request.session.session_key if is_own else None)
    if ended:
        audit_log.record_of_person("session.ended", user, after={"sessions": ended})
