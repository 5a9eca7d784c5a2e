"""A Celery worker whose child dies once, as by `kill -9`, while it sweeps: for tests.stage.kills.

`celery -A tests.stage.deadly_worker`. The boundaries are those of `kills.SWEEPERS_BOUNDARIES`.
"""

import django

from config.celery import app

django.setup()  # Celery does it later, and the kinds need it.

from acquirers.conversation import kinds, settling  # noqa: E402
from tests.stage.deadly import deadly  # noqa: E402
from tests.stage.kills import SWEEPERS_BOUNDARIES  # noqa: E402

BEGUN, ASKING, ANSWERED, SETTLED = SWEEPERS_BOUNDARIES

for kind in kinds.KINDS.values():
    kind.ask = deadly(deadly(kind.ask, ASKING), BEGUN)  # type: ignore[method-assign]

settling.settle = deadly(settling.settle, ANSWERED, then=SETTLED)

__all__ = ["app"]
