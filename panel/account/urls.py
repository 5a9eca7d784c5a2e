"""Addresses below `/account/`, one by one: without sign-up and change of e-mail address."""

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.webauthn import views as webauthn
from django.urls import path, re_path

from panel.account import invitations, views

urlpatterns = [
    path("login", account.login, name="account_login"),
    path("logout", views.SignOut.as_view(), name="account_logout"),
    path("inactive", account.account_inactive, name="account_inactive"),
    path("reauthenticate", account.reauthenticate, name="account_reauthenticate"),
    path("password", views.PasswordChange.as_view(), name="account_change_password"),
    path("password/reset", account.password_reset, name="account_reset_password"),
    path("password/reset/sent", account.password_reset_done, name="account_reset_password_done"),
    path(
        "password/reset/done",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(
        r"^password/reset/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>[0-9A-Za-z-]+)$",
        views.PasswordReset.as_view(),
        name="account_reset_password_from_key",
    ),
    path("invitation", invitations.accept, name="account_invitation"),
    path("invitation/<str:token>", invitations.follow, name="account_invitation_link"),
    path("sessions", views.own_sessions, name="account_sessions"),
    path("activity", views.own_activity, name="account_activity"),
    path("security", views.Index.as_view(), name="mfa_index"),
    path("code", mfa.authenticate, name="mfa_authenticate"),
    path("code/again", mfa.reauthenticate, name="mfa_reauthenticate"),
    path("authenticator", views.ActivateTotp.as_view(), name="mfa_activate_totp"),
    path("authenticator/remove", views.DeactivateTotp.as_view(), name="mfa_deactivate_totp"),
    path("recovery-codes", recovery_codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path(
        "recovery-codes/new", views.NewRecoveryCodes.as_view(), name="mfa_generate_recovery_codes"
    ),
    path("passkeys", webauthn.list_webauthn, name="mfa_list_webauthn"),
    path("passkeys/add", views.AddPasskey.as_view(), name="mfa_add_webauthn"),
    path("passkeys/login", webauthn.login_webauthn, name="mfa_login_webauthn"),
    path("passkeys/again", webauthn.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path("passkeys/<int:pk>/remove", views.RemovePasskey.as_view(), name="mfa_remove_webauthn"),
    path("passkeys/<int:pk>/edit", webauthn.edit_webauthn, name="mfa_edit_webauthn"),
]
