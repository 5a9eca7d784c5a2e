"""Static files under names that hold their digest: browsers keep them for a year."""

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.contrib.staticfiles.finders import get_finders
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import Storage, storages
from whitenoise.storage import CompressedManifestStaticFilesStorage

URLS, IMPORTS, _SOURCE_MAPS = CompressedManifestStaticFilesStorage.patterns[0][1]


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """WhiteNoise's storage; a page is shown in plain rather than not at all."""

    # Files of others stay as they are, and the source maps that they name are not taken over.
    patterns = (("*.css", (URLS, IMPORTS)),)

    def stored_name(self, name: str) -> str:
        """Return the file's name with its digest; its own name if it was not collected.

        An error's page must come even if the files were not collected.
        """
        if self.hash_key(self.clean_name(name)) in self.hashed_files:
            return super().stored_name(name)
        return self.clean_name(name)


def require_collected() -> None:
    """Stop a live web process whose pages would have no style.

    :raises ImproperlyConfigured: the static files were not collected.
    """
    if settings.LIVEMODE and not storages["staticfiles"].hashed_files:  # type: ignore[attr-defined]
        raise ImproperlyConfigured(
            f"There are no static files in {settings.STATIC_ROOT}: run manage.py collectstatic."
        )


def of_another_release() -> list[str]:
    """Return the files of this release that were collected from another one, or not at all.

    Style sheets are left out: the digest in the name of one is of names that are made for it. An
    installation without collected files has none of another release.
    """
    collected = storages["staticfiles"].hashed_files  # type: ignore[attr-defined]
    sources: dict[str, Storage] = {}
    for finder in get_finders() if collected else ():
        for name, source in finder.list(StaticFilesConfig.ignore_patterns):
            sources.setdefault(name, source)  # Of two files of one name, the first is collected.
    return [
        name
        for name, source in sources.items()
        if not name.endswith(".css") and collected.get(name) != _hashed_name(name, source)
    ]


def _hashed_name(name: str, source: Storage) -> str:
    with source.open(name) as file:
        return storages["staticfiles"].hashed_name(name, file)  # type: ignore[attr-defined]
