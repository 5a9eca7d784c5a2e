"""The signature of a delivery (spec: Signature)."""

import hmac
from collections.abc import Iterable


def header(body: bytes, secrets: Iterable[str], *, at: int) -> str:
    """Return the value of `PF-Signature`: `t=…,v1=…`, one `v1` for each secret.

    :param secrets: the endpoint's, the newest first; the whole text is the key, `whsec_` too.
    :param at: the unix time of this attempt, in real time: receivers compare it with theirs.
    """
    signed = b"%d.%s" % (at, body)
    digests = (hmac.digest(secret.encode(), signed, "sha256") for secret in secrets)
    return ",".join([f"t={at}", *(f"v1={digest.hex()}" for digest in digests)])
