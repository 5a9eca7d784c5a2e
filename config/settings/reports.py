"""The service that reports of errors go to: none, unless the operator names one."""

import re
from importlib.util import find_spec

import environ

from config.settings.installation import env

# A project of Sentry, or of a service that speaks its language (config.reports).
SENTRY_DSN = env.str("SENTRY_DSN", default="").strip()
_SAFE = r"https://\w+@[\w.-]+(?::\d+)?"
_HERE = r"http://\w+@(?:localhost|127\.0\.0\.1)(?::\d+)?"
if SENTRY_DSN and not re.fullmatch(rf"(?:{_SAFE}|{_HERE})/(?:[\w/-]+/)?\d+", SENTRY_DSN):
    raise environ.ImproperlyConfigured(
        "Set SENTRY_DSN to a project's address, such as https://key@sentry.example/1, or leave it"
        " out."
    )
if SENTRY_DSN and find_spec("sentry_sdk") is None:
    raise environ.ImproperlyConfigured(
        "SENTRY_DSN is set, and its library is missing: install requirements-sentry.txt, or leave"
        " the variable out."
    )
