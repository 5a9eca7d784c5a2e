"""HTTP: hosts, cookies, middleware, pages and their files."""

from pathlib import Path

import environ
from csp.constants import NONE, SELF

from config.settings.installation import API_HOST, BASE_DIR, LIVEMODE, PANEL_HOST, base, env

ALLOWED_HOSTS = [*env.list("ALLOWED_HOSTS", default=[]), API_HOST, PANEL_HOST]
ALLOWED_HOSTS += ["localhost"] if API_HOST == "127.0.0.1" else []
_https = base.scheme == "https"
# So many proxies of ours stand before the service; BEHIND_PROXY alone means one.
_behind_proxy = env.bool("BEHIND_PROXY", default=False)
PROXY_HOPS = env.int("PROXY_HOPS", default=int(_behind_proxy))
if int(_behind_proxy) > PROXY_HOPS:
    raise environ.ImproperlyConfigured(
        "Set PROXY_HOPS to the number of your proxies: 1 or more with BEHIND_PROXY, 0 without any."
    )
BEHIND_PROXY = PROXY_HOPS > 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SECURE_SSL_REDIRECT = _https
# Nothing on /v1 ever redirects: a 301 turns an SDK's POST into a GET that "succeeds".
SECURE_REDIRECT_EXEMPT = [r"^v1(/|$)", r"^(livez|readyz|healthz)$"]
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
# Both are about other hosts of the domain, and browsers forget neither for a year.
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("HSTS_INCLUDE_SUBDOMAINS", default=False)
SECURE_HSTS_PRELOAD = env.bool("HSTS_PRELOAD", default=False)
# Django asks for both, which may well be off.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
# Browsers take a `__Host-` cookie of this host alone, over https: no neighbour plants one.
_cookie = "__Host-" if _https else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_cookie}sessionid", f"{_cookie}csrftoken"
CSRF_FAILURE_VIEW = "config.errors.csrf_failure"
# Other sites are told nothing. Not "no-referrer": browsers then send `Origin: null` with our
# own forms, and Django refuses them. Pages with a token in their address say so themselves.
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
APPEND_SLASH = False
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
MIDDLEWARE = [
    # Around the policy of all pages: the payment pages have one of their own.
    "payments.checkout.page_headers.PageHeaders",
    # Outside of the frame, whose own refusals may be pages too.
    "config.middleware.PagePolicy",
    "config.middleware.RequestFrame",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # All that follows is for pages alone.
    "config.middleware.ApiAtOnce",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "panel.languages.Language",
    "merchants.sessions.NotedSessions",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    # Around all that a page asks the database, whoever is signed in included.
    "panel.page_time.PageTime",
    "panel.account.doors.Doors",
]

# The addresses that a page may load from, and that its forms may lead to
# (docs/contribute/web-pages.md).
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            # A part of a template (`page.html#part`) is found by the outermost loader.
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    [
                        (
                            "django.template.loaders.cached.Loader",
                            [
                                "django.template.loaders.filesystem.Loader",
                                "django.template.loaders.app_directories.Loader",
                            ],
                        ),
                    ],
                ),
            ],
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "panel.frame.frame",
            ],
        },
    },
]

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "panel.static_files.HashedStaticFiles"},
}
# Collected files have their digest in their names, and browsers keep them for a year. A sandbox
# also serves the files where they lie, for whoever starts it without `./dev up`.
WHITENOISE_USE_FINDERS = not LIVEMODE
