"""Answers as the bank has given them, signed as it signs them, and the means to change them."""

import hashlib
from html import escape

from tests.acquirers.garanti.conftest import NUMBER, VALUES
from tests.stage.adapters import REFERENCE

APPROVED = {
    "OrderID": REFERENCE, "Source": "HOST", "Code": "00", "ReasonCode": "00", "Message": "Approved",
    "ErrorMsg": "", "SysErrMsg": "", "RetrefNum": NUMBER, "AuthCode": "304919",
    "ProvDate": "20240310 14:05:08",
}  # fmt: skip
DECLINED = {
    **APPROVED, "Code": "51", "ReasonCode": "51", "Message": "Declined", "AuthCode": "",
    "ErrorMsg": "Yetersiz bakiye", "SysErrMsg": "LİMİT YETERSİZ",
}  # fmt: skip
REFUSED = {
    **DECLINED, "Source": "GVPS", "Code": "92", "RetrefNum": "", "ErrorMsg": "Geçersiz işlem",
    "SysErrMsg": "ErrorId: 0651",
}  # fmt: skip
RESPONSE = ("Source", "Code", "ReasonCode", "Message", "ErrorMsg", "SysErrMsg")
SELLS, REFUNDS = VALUES["password"], VALUES["refund_password"]


def document(
    texts: dict[str, str], *, lists: str = "", password: str = SELLS, digest: str | None = None
) -> bytes:
    """Return an answer; a name that is left out of `texts` is no element of it."""
    told = {**texts, "HashData": signed(texts, password) if digest is None else digest}
    response = _written({name: told[name] for name in RESPONSE if name in told})
    order = _written({"OrderID": told["OrderID"]} if "OrderID" in told else {})
    rest = {name: text for name, text in told.items() if name not in (*RESPONSE, "OrderID")}
    inside = (
        f"<Mode></Mode><Terminal><ProvUserID>PROVAUT</ProvUserID><ID>30691298</ID></Terminal>"
        f"<Order>{order}<GroupID></GroupID>{lists}</Order>"
        f"<Transaction><Response>{response}</Response>{_written(rest)}"
        f"<CardNumberMasked>null</CardNumberMasked></Transaction>"
    )
    root = f"<GVPSResponse>{inside}</GVPSResponse>"
    return f'<?xml version="1.0" encoding="UTF-8"?>{root}'.encode()


def signed(texts: dict[str, str], password: str = SELLS) -> str:
    names = ("Code", "RetrefNum", "AuthCode", "ProvDate", "OrderID")
    secret = hashlib.sha1(f"{password}030691298".encode()).hexdigest().upper()  # noqa: S324
    text = "".join(texts.get(name, "") for name in names) + secret
    return hashlib.sha512(text.encode()).hexdigest().upper()


def _written(elements: dict[str, str]) -> str:
    return "".join(f"<{name}>{escape(text)}</{name}>" for name, text in elements.items())


def refused(reason: str, *, password: str = SELLS, **changes: str) -> bytes:
    return document({**REFUSED, "ReasonCode": reason, **changes}, password=password)


def declined(code: str, *, password: str = SELLS, **changes: str) -> bytes:
    told = {**DECLINED, "Code": code, "ReasonCode": code, **changes}
    return document(told, password=password)


GOOD = document(APPROVED)
GOOD_OF_REFUNDS = document({**APPROVED, "RetrefNum": "407000985170"}, password=REFUNDS)
# Lines of histories.
SALE = {
    "Type": "sales", "Status": "00", "PreAuthAmount": "0", "AuthAmount": "10025", "PreAuthDate": "",
    "AuthDate": "20240310", "VoidDate": "", "RetrefNum": NUMBER, "AuthCode": "304919",
    "ReturnCode": "00", "BatchNum": "5562", "InstallmentCnt": "0", "CurrencyCode": "949",
    "Settlement": "N",
}  # fmt: skip
HELD = {
    **SALE, "Type": "preauth", "PreAuthAmount": "10025", "AuthAmount": "0", "AuthDate": "",
    "PreAuthDate": "20240310",
}  # fmt: skip
CAPTURE = {**SALE, "Type": "postauth", "AuthAmount": "4000", "RetrefNum": "407000985166"}
NO = {
    **SALE, "Status": "01", "ReturnCode": "51", "RetrefNum": "407000985160", "AuthCode": "",
    "CurrencyCode": "0",
}  # fmt: skip
REFUND = {
    **SALE, "Type": "refund", "AuthAmount": "100", "AuthDate": "20240312",
    "RetrefNum": "407200985170",
}  # fmt: skip
FAILED_REFUND = {
    **REFUND, "Status": "01", "ReturnCode": "92", "AuthDate": "", "AuthCode": "",
    "CurrencyCode": "0", "RetrefNum": "407200985169",
}  # fmt: skip
VOID = {**SALE, "Type": "void", "RetrefNum": "407000985171"}
INQUIRED = {
    **APPROVED, "Source": "GVPS", "ReasonCode": "", "RetrefNum": "", "AuthCode": "",
}  # fmt: skip


def listed(*lines: dict[str, str]) -> str:
    written = "".join(f"<OrderTxn>{_written(line)}</OrderTxn>" for line in lines)
    return f"<OrderHistInqResult><OrderTxnList>{written}</OrderTxnList></OrderHistInqResult>"


def history(*lines: dict[str, str], **changes: str) -> bytes:
    """Return the answer with these lines, the oldest first."""
    return document({**INQUIRED, **changes}, lists=listed(*lines))


NO_RECORD = document(
    {**REFUSED, "ReasonCode": "0108", "ErrorMsg": "Kayıt bulunmamaktadır"}, lists=listed()
)
