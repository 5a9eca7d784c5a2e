"""When a failed delivery is tried again (spec: Response and retry, contract 9)."""

# The wait before each attempt after the first, in seconds. No jitter: the delays are the spec's.
DELAYS_SECONDS = (60, 300, 1800, 7200, 21600, 43200, 86400, 86400, 86400)
MAX_ATTEMPTS = len(DELAYS_SECONDS) + 1


def delay_after(attempt: int) -> int | None:
    """Return the seconds to wait after failed attempt 1…10; None after the last."""
    return DELAYS_SECONDS[attempt - 1] if attempt < MAX_ATTEMPTS else None
