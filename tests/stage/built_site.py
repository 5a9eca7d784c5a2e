"""The documentation's site as `./dev docs` builds it; once, whatever tests ask for it."""

import subprocess
import sys
from functools import cache
from pathlib import Path

from devstack.state import ROOT

PLACE = ROOT / "builtdocs"


@cache
def built_site() -> Path:
    """Return its directory; built if a page or the code has changed since the last time."""
    command = [sys.executable, "-m", "docsite", "--if-changed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return PLACE


def addresses(site: Path) -> list[str]:
    """Return the addresses of all pages, below that of the site."""
    pages = (str(file.relative_to(site)) for file in site.rglob("*.html"))
    return sorted(page.removesuffix(".html").removesuffix("index") for page in pages)
