"""A poller that dies as by `kill -9`, at a boundary that the environment names, for one notice."""

import os
import signal

import django


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def prepare(boundary: str, number: int) -> None:
    """Let the process die at the boundary, at the notice with this number."""
    apply, find = applying.NOTICES.apply, applying.attempt_of

    def applied(notice_id: int) -> bool:
        done = apply(notice_id)
        is_it = Notice.objects.get(id=notice_id).number == number
        if boundary == "between applying a notice and going on" and is_it:
            die()
        return done

    def found(notice: Notice) -> object:
        attempt = find(notice)
        if boundary == "with a notice in its hands" and notice.number == number:
            die()
        return attempt

    applying.NOTICES.apply, applying.attempt_of = applied, found  # type: ignore[method-assign]


if __name__ == "__main__":
    django.setup()
    from acquirers.notices import applying, tasks
    from acquirers.notices.models import Notice

    prepare(os.environ["DIES"], int(os.environ["DIES_AT"]))
    tasks.take_in()
