import os
import time
from typing import Any

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Writes down how long each committed transaction took, and what plan took of it, in ms."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.began_at = self.plan_seconds = 0.0
        self._file = os.open(os.environ["BENCH_TIMES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _set_autocommit(self, autocommit: bool) -> None:
        super()._set_autocommit(autocommit)  # type: ignore[misc]  # Its stubs leave it out.
        if not autocommit:
            self.began_at, self.plan_seconds = time.perf_counter(), 0.0

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # So too.
        took = time.perf_counter() - self.began_at
        # One short write at the end of the file: those of other threads do not mix with it.
        os.write(self._file, b"%.4f %.4f\n" % (took * 1000, self.plan_seconds * 1000))
