"""Every setting of the service, from the environment (see .env.example)."""

from config.logs import configure_logs, logging_config
from config.settings.api import *  # noqa: F403
from config.settings.banks import *  # noqa: F403
from config.settings.http import *  # noqa: F403
from config.settings.installation import *  # noqa: F403
from config.settings.installation import BASE_DIR, INSTALLATION, RELEASE, env
from config.settings.people import *  # noqa: F403
from config.settings.reports import SENTRY_DSN
from config.settings.rooms import *  # noqa: F403
from config.settings.stores import *  # noqa: F403
from config.settings.traces import *  # noqa: F403
from config.settings.webhooks import *  # noqa: F403

LANGUAGE_CODE = "en"
# In their own words. The API is English always.
LANGUAGES = [("en", "English"), ("tr", "Türkçe")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
REPORTS = {"dsn": SENTRY_DSN, "release": RELEASE, "environment": INSTALLATION}
LOGGING = logging_config(
    level=env.str("LOG_LEVEL", default="INFO"), reports=REPORTS if SENTRY_DSN else None
)
configure_logs()
