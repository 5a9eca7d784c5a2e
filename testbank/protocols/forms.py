"""Form bodies whose values are bytes: the sender's encoding is not known before they are read."""

from urllib.parse import parse_qsl

# A letter for each byte.
_BYTES = "latin-1"


def pairs(body: bytes, *, at_most: int) -> list[tuple[str, bytes]]:
    """Return the names and values of a form in their order.

    :raises ValueError: there are more of them.
    """
    text = body.decode(_BYTES)
    found = parse_qsl(text, keep_blank_values=True, encoding=_BYTES, max_num_fields=at_most)
    return [(name, value.encode(_BYTES)) for name, value in found]
