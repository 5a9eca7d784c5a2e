"""The reason for which a server's certificate was refused."""

import ssl
from collections.abc import Iterator

# All that libpq says, whatever the fault is.
REFUSED = "certificate verify failed"


def fault(problem: BaseException) -> str | None:
    """Return why a server's certificate was refused; None if a failure has another reason.

    An error's own text is left out: it may have an address with a password.
    """
    chain = list(_chain(problem))
    for one in chain:
        if isinstance(one, ssl.SSLCertVerificationError):
            return one.verify_message
    if any(REFUSED in str(one) for one in chain):
        return "it is not valid any more, or no trusted authority has signed it"
    return None


def _chain(problem: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = problem
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__
