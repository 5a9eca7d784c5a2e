"""The table of BINs: its versions, a new one by upload, and the way back."""

from typing import Any, BinaryIO, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path

from panel.operators import desk, listing
from panel.operators.desk import Section, Trail
from panel.operators.forms import ReasonForm
from payments.installments import bin_imports
from payments.installments.bin_files import COLUMNS, PROBLEMS_SHOWN, Problems
from payments.installments.bin_imports import AnotherIsActive, BinsRefused, NothingToUndo, Wish
from payments.installments.models import BinImport

VIEW, IMPORT = "installments.view_binimport", "installments.import_bins"
# A million lines have some 60 MB.
FILE_BYTES_MAX = 128 * 1024 * 1024
STALE = "Another version became active meanwhile: look at it, and decide again."


class UploadForm(ReasonForm):
    """A file that becomes the whole table. `seen` is the version that it replaces."""

    file = forms.FileField(
        label="CSV file", allow_empty_file=True, help_text=f"Columns: {', '.join(COLUMNS)}."
    )
    field_order = ("file",)

    def clean_file(self) -> Any:
        """Return the file, which lies on the disk and not in memory if it is large."""
        file = self.cleaned_data["file"]
        if file.size > FILE_BYTES_MAX:
            raise forms.ValidationError("The file has more than 128 MB.")
        return file


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show the versions that are kept, the newest first."""
    rows = BinImport.objects.select_related("replaced")
    shown: dict[str, Any] = {"found": listing.page(request, rows), "active": _active()}
    return desk.show(request, "desk/bins/list.html", "BINs", **shown)


@desk.page(IMPORT, methods=("GET", "POST"))
def upload(request: HttpRequest) -> HttpResponse:
    """Take a file as the whole table, or say of each bad line why not."""
    form = UploadForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    form.fields["seen"].initial = _seen()
    if not form.is_valid():
        return _upload_page(request, form)
    file = cast(BinaryIO, form.cleaned_data["file"])
    try:
        version = bin_imports.import_file(file, _wish(form))
    except BinsRefused as refusal:
        return _upload_page(request, form, problems=refusal.problems)
    except AnotherIsActive:
        form.add_error(None, STALE)
        form.refused_status = 409
        return _upload_page(request, form)
    messages.success(request, f"Version {version.pk} is active: {version.row_count} prefixes.")
    return desk.see_other("desk_bins")


@desk.page(IMPORT, methods=("GET", "POST"))
def undo(request: HttpRequest) -> HttpResponse:
    """Make the version before the active one active again."""
    form = ReasonForm(desk.sent(request))
    form.fields["seen"].initial = _seen()
    if form.is_valid():
        try:
            version = bin_imports.undo(_wish(form))
            messages.success(request, f"Version {version.pk} is active again.")
            return desk.see_other("desk_bins")
        except (NothingToUndo, AnotherIsActive) as refusal:
            is_stale = isinstance(refusal, AnotherIsActive)
            form.add_error(None, STALE if is_stale else "There is no version to go back to.")
            form.refused_status = 409
    return desk.ask(
        request, form, "Go back to the version before", _trail(),
        template="desk/bins/undo.html", active=_active(),
    )  # fmt: skip


def _upload_page(
    request: HttpRequest, form: UploadForm, problems: Problems | None = None
) -> HttpResponse:
    return desk.ask(
        request, form, "Import BINs", _trail(), template="desk/bins/upload.html",
        problems=problems, most=PROBLEMS_SHOWN,
    )  # fmt: skip


def _wish(form: ReasonForm) -> Wish:
    seen = form.cleaned_data["seen"]
    number = int(seen) if seen.isascii() and seen.isdecimal() and len(seen) < 19 else -1
    return Wish(form.cleaned_data["why"], number)


def _active() -> BinImport | None:
    return BinImport.objects.select_related("replaced").filter(is_active=True).first()


def _seen() -> str:
    active = _active()
    return str(active.pk if active else 0)


def _trail() -> Trail:
    return [("BINs", desk.address("desk_bins"))]


SECTION = Section(
    "BINs",
    [
        path("bins/", listed, name="desk_bins"),
        path("bins/import/", upload, name="desk_bins_import"),
        path("bins/undo/", undo, name="desk_bins_undo"),
    ],
)
