"""The garbage collector of long-running processes: web, workers, the sender of webhooks."""

import gc


def keep_what_is_loaded() -> None:
    """Take all loaded objects out of the garbage collector's full rounds.

    They look at every object and stop all threads meanwhile: with the service's modules loaded
    for 100 ms, every few seconds under load. What comes later is looked at as ever. The cycles that
    the loading left, about a megabyte, stay too: to look for them takes a third of a second.
    """
    gc.freeze()
