"""Secrets from files: `X_FILE` names a file whose one line is the variable `X`.

As containers and supervisors hand secrets over: what stands in the environment is inherited by all
children, and shown by `docker inspect` and the like.
"""

import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

# Longer than any address or key; a device or a log would be read without end.
BYTES_MAX = 4096


def with_secrets(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the environment with each named variable that a file holds.

    :raises ImproperlyConfigured: both are set, or the file is no secret of one line.
    """
    found = dict(environment)
    for name in names:
        if path := environment.get(f"{name}_FILE", "").strip():
            if environment.get(name, "").strip():
                raise ImproperlyConfigured(f"Set {name} or {name}_FILE, and not both.")
            found[name] = _one_line(f"{name}_FILE", Path(path))
    return found


def _one_line(variable: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            _require_private(variable, path, stat.S_IMODE(path.stat().st_mode))
            content = file.read(BYTES_MAX + 1)
        text = content.decode().removesuffix("\n").removesuffix("\r")
    except OSError as problem:
        raise ImproperlyConfigured(
            f"{variable}: {path} cannot be read ({problem.strerror})."
        ) from None
    except UnicodeDecodeError:
        text = ""
    if not text.strip() or len(content) > BYTES_MAX or not text.isprintable():
        # Nothing of it is shown: it may be another secret.
        raise ImproperlyConfigured(
            f"{variable}: {path} must hold the value in one line of {BYTES_MAX} bytes at most."
        )
    return text


def _require_private(variable: str, path: Path, mode: int) -> None:
    if mode & stat.S_IRWXO:
        raise ImproperlyConfigured(
            f"{variable}: everybody on this host may read {path}. Run: chmod o= {path} "
            "(in a container: give the secret the mode 0400 and the service's user)."
        )
