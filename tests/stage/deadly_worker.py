"""A Celery worker whose child dies once, as by `kill -9`, while it sweeps: for tests.stage.mortal.

`celery -A tests.stage.deadly_worker`. The boundaries are those of `mortal.SWEEPERS_BOUNDARIES`.
"""

from tests.stage.kill_points import deadly

# isort: split
# Django is set up from here on.
from acquirers.in_doubt import kinds
from config.celery import app
from tests.stage.mortal import SWEEPERS_BOUNDARIES

BEGUN, ASKING, ANSWERED, SETTLED = SWEEPERS_BOUNDARIES

for kind in kinds.all_kinds():
    kind.ask = deadly(deadly(kind.ask, ASKING), BEGUN)  # type: ignore[method-assign]
    kind.resolve = deadly(kind.resolve, ANSWERED, then=SETTLED)  # type: ignore[method-assign]

__all__ = ["app"]
