"""The web process with the addresses of tests/browser/payer_pages.py, for gunicorn."""

from django.conf import settings

from config.wsgi import application

__all__ = ["application"]

settings.ROOT_URLCONF = "tests.browser.payer_pages"
