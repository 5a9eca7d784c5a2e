"""The bank's silence: a caller that gets no answer."""

import time

from django.conf import settings
from django.http import HttpResponse

from core import connections


def fall_silent() -> HttpResponse:
    """Outlast the gateway's patience, then end with nothing to read."""
    connections.give_back()
    time.sleep(settings.TESTBANK_SILENCE_SECONDS)
    return HttpResponse(status=504)
