"""The Celery application: workers and beat."""

import os

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("config")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(**_options: object) -> None:
    """Being connected is all: without a receiver, Celery adds unscrubbed handlers of its own."""
