"""Files of BINs, and the table that they fill."""

from io import BytesIO

from payments.installments import bin_imports
from payments.installments.bin_files import COLUMNS
from payments.installments.bin_imports import BinsRefused
from payments.installments.models import BinImport

HEADER = ",".join(COLUMNS)
LINE = {
    "prefix": "45430000", "brand": "visa", "card_type": "credit", "country": "TR",
    "issuer": "Test Bank A", "program": "bonus", "commercial": "false",
    "three_d_secure_required": "false",
}  # fmt: skip


def line(prefix: str = "45430000", **changes: str) -> str:
    return ",".join({**LINE, "prefix": prefix, **changes}.values())


def csv_of(*lines: str, header: str = HEADER) -> bytes:
    return "\n".join([header, *lines, ""]).encode()


def import_bins(*lines: str) -> BinImport:
    return import_bytes(csv_of(*lines))


def import_bytes(content: bytes) -> BinImport:
    return bin_imports.import_file(BytesIO(content))


def problems_of(content: bytes) -> list[str]:
    """Return why a file is refused, in the words of the report; empty if it is taken."""
    try:
        import_bytes(content)
    except BinsRefused as refusal:
        return [str(problem) for problem in refusal.problems.first]
    return []
