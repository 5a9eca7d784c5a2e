"""Texts as a search compares them, whatever the database's locale."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db.models import Value
from django.db.models.functions import Collate

from core.folding import Folded

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "text", [Value("ŞĞÇÖÜİI ışğçöü"), Collate(Value("ŞĞÇÖÜİI ışğçöü"), "C")], ids=["ours", "C"]
)
def test_turkish_capitals_are_folded_in_every_locale(text: Any) -> None:
    # The locale `C` has no small letters but ASCII's.
    text = Folded(text)

    [folded] = Group.objects.annotate(folded=text).values_list("folded", flat=True)[:1]

    assert folded == "sgcouii isgcou"
