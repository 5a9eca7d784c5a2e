"""People: how they sign in (docs/reference/signing-in.md), and the mails that they get."""

from email.utils import parseaddr
from ipaddress import ip_network

import environ

from config.settings.installation import API_HOST, LIVEMODE, PANEL_HOST, PANEL_URL, env
from core.mail import is_mail_address

AUTH_USER_MODEL = "merchants.User"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "panel:home"
LOGOUT_REDIRECT_URL = LOGIN_URL
# The limits of signing in are in merchants.sign_in and merchants.passwords
# (docs/reference/signing-in.md).
AUTHENTICATION_BACKENDS = ["merchants.sign_in.PasswordBackend"]
PASSWORD_HASHERS = ["merchants.passwords.Argon2InTurn"]
# Per address, of right passwords and codes and wrong ones.
SIGN_INS_PER_MINUTE = 30
# required: whoever has no second factor reaches only the pages to make one.
SECOND_FACTOR = env.str("SECOND_FACTOR", default="required" if LIVEMODE else "optional")
if SECOND_FACTOR not in ("required", "optional"):
    raise environ.ImproperlyConfigured("Set SECOND_FACTOR to required or optional.")
# The networks of operators; elsewhere /admin/ is 404.
_networks = env.list("OPERATOR_NETWORKS", default=[])
try:
    OPERATOR_NETWORKS = [ip_network(network.strip()) for network in _networks]
except ValueError as error:
    raise environ.ImproperlyConfigured(
        "Set OPERATOR_NETWORKS to networks, separated by commas, such as 10.0.0.0/8."
    ) from error
SESSION_ENGINE = "merchants.sessions"
SESSION_IDLE_SECONDS = 15 * 60 if LIVEMODE else 12 * 3600
SESSION_SECONDS = 12 * 3600 if LIVEMODE else 7 * 86_400
# The server says when a session ends; a cookie with an end would have to be sent anew each time.
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
PASSWORD_RESET_TIMEOUT = 3600
# Of django-allauth alone, which counts the tries of some forms and the codes that were used: it
# holds for all processes, and without Redis. The table is made by a migration of merchants.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "sign_in_cache",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
        "KEY_FUNCTION": "panel.account.cache.hidden_key",
    }
}
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "merchants.password_rules.NotGuessable"},
    # Last: it computes hashes.
    {"NAME": "merchants.password_rules.NotOneOfTheLast"},
]

# --- django-allauth ---

ACCOUNT_ADAPTER = "panel.account.adapters.AccountAdapter"
MFA_ADAPTER = "panel.account.adapters.SecondFactorAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]  # Not open; its check compares it with the above.
# Accounts come by invitation: the address is proved before there is one.
ACCOUNT_EMAIL_VERIFICATION = "none"
MFA_ALLOW_UNVERIFIED_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_SESSION_REMEMBER = False
# allauth's own would copy addresses into a table of its own, and find people by them.
_generator = "django.contrib.auth.tokens.PasswordResetTokenGenerator"
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = _generator
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# Passwords and codes are counted by merchants.sign_in.
ACCOUNT_RATE_LIMITS = {
    "login": None,
    "login_failed": None,
    "reauthenticate": None,
    "change_password": None,
}
ACCOUNT_FORMS = {
    "change_password": "panel.account.forms.PasswordChangeForm",
    "reset_password": "panel.account.forms.PasswordResetForm",
    "reset_password_from_key": "panel.account.forms.NewPasswordForm",
}
MFA_FORMS = {
    "authenticate": "panel.account.forms.CodeForm",
    "reauthenticate": "panel.account.forms.CodeAgainForm",
    "add_webauthn": "panel.account.forms.PasskeyForm",
    "edit_webauthn": "panel.account.forms.PasskeyNameForm",
    "login_webauthn": "panel.account.forms.PasskeySignInForm",
    "authenticate_webauthn": "panel.account.forms.PasskeyStepForm",
    "reauthenticate_webauthn": "panel.account.forms.PasskeyAgainForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_TOLERANCE = 0
MFA_TOTP_ISSUER = f"Card payments ({PANEL_HOST})"
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not LIVEMODE and PANEL_URL.startswith("http://localhost")

# --- Mail ---

# Without an address, mails are written to the process's output.
vars().update(env.email_url("EMAIL_URL", default="consolemail://"))
if LIVEMODE and env.email_url("EMAIL_URL", default="consolemail://")["EMAIL_BACKEND"].endswith(
    ("console.EmailBackend", "dummy.EmailBackend", "locmem.EmailBackend")
):
    raise environ.ImproperlyConfigured(
        "Set EMAIL_URL to a mail server, such as smtp+tls://user:password@host:587: live mails"
        " have links that let people in, which neither the log nor memory is a place for."
    )
EMAIL_TIMEOUT = 10
_mail_host = f"[{API_HOST}]" if ":" in API_HOST else API_HOST
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default=f"payments@{_mail_host}")
if not is_mail_address(DEFAULT_FROM_EMAIL):
    raise environ.ImproperlyConfigured(
        "Set DEFAULT_FROM_EMAIL to one address, such as payments@pay.example or"
        ' "Acme, Inc" <payments@pay.example>: a name with a comma stands in quotes.'
    )
# The address for reports of weaknesses: one of the web, or of mails (RFC 9116).
SECURITY_CONTACT = env.str("SECURITY_CONTACT", default=f"mailto:{parseaddr(DEFAULT_FROM_EMAIL)[1]}")
if not SECURITY_CONTACT.startswith(("https://", "mailto:")) or set(SECURITY_CONTACT) & set("\r\n"):
    raise environ.ImproperlyConfigured(
        "Set SECURITY_CONTACT to one address that begins with https:// or mailto:."
    )
