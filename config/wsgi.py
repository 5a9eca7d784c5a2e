"""The web process's entry point."""

import os

from django.core.wsgi import get_wsgi_application

from core.http import with_whole_bodies
from vault.checks import require_keys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = with_whole_bodies(get_wsgi_application())
# Now, so that a process without its keys stops before it takes a request.
require_keys()
