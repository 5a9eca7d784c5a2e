"""Static files under names that hold their digest: browsers keep them for a year."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import storages
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
