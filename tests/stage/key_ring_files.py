"""Key rings' files as somebody with the key-encryption key could write them, or as before it."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings

from core.keyring import kek
from core.keyring.content import wrapped
from core.keyring.file import content_of, stored_in


def rewrite(path: Path, **changes: object) -> None:
    """Change members of a file, wrapped and authenticated as it was; those that are None go."""
    stored = stored_in(path)
    ours = kek.find(settings.KEK_FILE, stored["installation"], stored["kek"])
    replace(path, wrapped(_changed(content_of(path), changes), ours))


def put_in_clear(path: Path, **changes: object) -> None:
    """Make a file one of before keys were wrapped, and change members of it."""
    content = content_of(path)
    for later in ("installation", "kek", "provider", "components", "about", "code"):
        content.pop(later, None)
    replace(path, _changed({**content, "version": 1}, changes))


def replace(path: Path, content: object) -> None:
    path.chmod(0o600)
    path.write_text(json.dumps(content))
    path.chmod(0o400)


def without_purposes(path: Path, *purposes: str) -> None:
    """Make a file one of before the service knew of some purposes."""
    mac = content_of(path)["mac"]
    rewrite(path, mac={name: key for name, key in mac.items() if name not in purposes})


def _changed(content: dict[str, Any], changes: dict[str, object]) -> dict[str, Any]:
    return {name: value for name, value in (content | changes).items() if value is not None}
