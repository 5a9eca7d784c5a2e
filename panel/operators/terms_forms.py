"""The parts that forms of a merchant's terms share."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict

from merchants.models import Merchant
from panel.operators.forms import DeskForm

LINES_MAX = 400
MINOR = "In minor units: 12500 is 125.00."
Row = dict[str, Any]


class TermsForm(DeskForm):
    """A change of a merchant; `title` is its page's."""

    title: ClassVar[str]

    def __init__(self, merchant: Merchant, asked: QueryDict, data: QueryDict | None = None) -> None:
        self.merchant = merchant
        super().__init__(data, initial=self.values(asked))

    def values(self, asked: QueryDict) -> Row:
        """Return what the fields show at first.

        :param asked: the address's parameters.
        """
        return {name: getattr(self.merchant, name) for name in self.base_fields}

    def changes(self) -> Row:
        """Return the changes as `accounts.change` takes them; the form is valid."""
        return dict(self.cleaned_data)


class LinesForm(TermsForm):
    """Rows that are replaced together, one on each line."""

    name: ClassVar[str]
    shown: ClassVar[Callable[[Merchant], Iterable[Row]]]

    lines = forms.CharField(
        required=False,
        max_length=40_000,
        widget=forms.Textarea(attrs={"rows": 12, "class": "code", "spellcheck": "false"}),
    )

    def values(self, asked: QueryDict) -> Row:
        return {"lines": "\n".join(self.written(row) for row in type(self).shown(self.merchant))}

    def written(self, row: Row) -> str:
        """Return the line of a row."""
        raise NotImplementedError

    def read(self, line: str) -> Row:
        """Return the row of a line.

        :raises ValueError: it is none.
        """
        raise NotImplementedError

    def clean_lines(self) -> list[Row]:
        """Return the rows."""
        lines = [line.strip() for line in self.cleaned_data["lines"].splitlines()]
        rows: list[Row] = []
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                rows.append(self.read(line))
            except ValueError:
                raise forms.ValidationError(f"Line {number} is not as it is told below.") from None
        if len(rows) > LINES_MAX:
            raise forms.ValidationError(f"There are more than {LINES_MAX} lines.")
        return rows

    def changes(self) -> Row:
        return {self.name: self.cleaned_data["lines"]}


def number(text: str) -> int:
    """Return a part of a line as a number.

    :raises ValueError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        raise ValueError("not a number")
    return int(text)
