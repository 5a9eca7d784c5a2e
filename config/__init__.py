import gc

# Python looks for cycles at every 700 new objects. A start makes 600,000, nearly all of which stay:
# looking at them again and again took a quarter of the start of each process and command.
gc.set_threshold(50_000, 20)

from config.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]
