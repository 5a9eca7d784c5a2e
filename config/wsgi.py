"""The web process's entry point."""

import os

from django.core.wsgi import get_wsgi_application

from core.http import with_whole_bodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = with_whole_bodies(get_wsgi_application())
