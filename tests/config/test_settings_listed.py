"""Every variable that the settings read is explained in .env.example."""

import re
import tomllib

from django.conf import settings

from devstack.state import ROOT


def test_every_variable_of_the_settings_is_in_the_example() -> None:
    modules = (ROOT / "config" / "settings").glob("*.py")
    texts = "\n".join(module.read_text() for module in modules)
    example = (ROOT / ".env.example").read_text()
    read = set(re.findall(r"""(?:env\.\w+|required|_database)\(\s*"([A-Z_]+)\"""", texts))
    explained = set(re.findall(r"^#? ?([A-Z_]+)=", example, re.MULTILINE))

    assert len(read) > 30
    assert read - explained == set()


def test_the_release_is_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == settings.RELEASE
