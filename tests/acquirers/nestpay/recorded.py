"""Answers as banks have given them, and the means to change them."""

from tests.stage.adapters import REFERENCE

APPROVED = {
    "OrderId": REFERENCE, "GroupId": REFERENCE, "Response": "Approved", "AuthCode": "P48911",
    "HostRefNum": "230200671758", "ProcReturnCode": "00", "TransId": "22302V8rE11732",
    "ErrMsg": "",
}  # fmt: skip
APPROVED_EXTRA = {
    "SETTLEID": "2286", "TRXDATE": "20221029 21:58:43", "ERRORCODE": "", "NUMCODE": "00",
    "CARDBRAND": "VISA", "CARDISSUER": "ZİRAAT BANKASI",
}  # fmt: skip
CVV = "CVV Hatası veya girilen CVV geçersiz."
DECLINED = {
    **APPROVED, "Response": "Declined", "AuthCode": "", "ProcReturnCode": "82",
    "HostRefNum": "4139489", "ErrMsg": CVV,
}  # fmt: skip
REFUSED = {
    **APPROVED, "Response": "Error", "AuthCode": "", "ProcReturnCode": "99", "HostRefNum": "",
    "ErrMsg": "Kredi kartı numarası geçerli formatta değil.",
}  # fmt: skip


def document(
    elements: dict[str, str], extra: dict[str, str] | None = None, encoding: str = "ISO-8859-9"
) -> bytes:
    inside = _written(elements) + f"<Extra>{_written(extra or {})}</Extra>"
    text = f'<?xml version="1.0" encoding="{encoding}"?><CC5Response>{inside}</CC5Response>'
    return text.encode(encoding)


def _written(elements: dict[str, str]) -> str:
    return "".join(f"<{name}>{text}</{name}>" for name, text in elements.items())


def refused(code: str, **changes: str) -> bytes:
    return document({**REFUSED, **changes}, {"ERRORCODE": code, "NUMCODE": "99"})


GOOD = document(APPROVED, APPROVED_EXTRA)
# Lines of histories.
SALE = "\t".join([
    "S", "C", "10025", "10025", "2024-01-01 22:15:27.511", "2024-01-01 22:15:27.511", "",
    "400100743898", "P14578", "00", "24001WPbH16694",
])  # fmt: skip
HELD = "\t".join([
    "S", "A", "10025", "", "2024-01-01 22:28:30.716", "", "",
    "400100743899", "T56045", "00", "24001WceJ18839",
])  # fmt: skip
VOIDED = "\t".join([
    "S", "V", "10025", "10025", "2024-01-01 22:15:27.511", "2024-01-01 22:15:27.511",
    "2024-01-02 21:53:01.297", "400200744059", "P78955", "00", "24002V29G19979",
])  # fmt: skip
NO = "S\tD\t10025\t\t2024-01-01 22:15:20.1\t\t\t\t\t51\t24001WPbH16600"
REFUND = "\t".join([
    "C", "C", "100", "100", "2024-01-03 10:00:00.000", "2024-01-03 10:00:00.000", "",
    "400200744060", "P1", "00", "24002V3CG19994",
])  # fmt: skip
FAILED_REFUND = "\t".join([
    "C", "D", "100", "100", "2024-01-03 10:00:00.000", "2024-01-03 10:00:00.000", "",
    "", "", "99", "24002V3CG19993",
])  # fmt: skip


def history(*lines: str, count: str | None = None, **changes: str) -> bytes:
    """Return the answer with these lines, the newest first."""
    named = {f"TRX{number}": line for number, line in enumerate(lines, 1)}
    counted = {"TRXCOUNT": str(len(lines)) if count is None else count, **named}
    return document({"OrderId": REFERENCE, "Response": "Approved", "ProcReturnCode": "00",
                     "ErrMsg": "Record(s) found", **changes}, counted)  # fmt: skip


NO_RECORD = document(
    {"OrderId": REFERENCE, "Response": "Declined", "ProcReturnCode": "05",
     "ErrMsg": f"No record found for {REFERENCE}"}, {"TRXCOUNT": "0"},
)  # fmt: skip
