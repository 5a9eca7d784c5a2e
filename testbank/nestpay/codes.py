"""Codes of the NestPay doors, and the bank's sentence for each.

Codes that the protocol's public facts do not name are of the range that they give.
"""

# Nothing was charged: the request itself.
UNREADABLE, MISSING, WRONG_FORM, WRONG_ORDER = "CORE-1006", "CORE-1020", "CORE-1021", "CORE-1022"
UNKNOWN_ELEMENT, TRANS_ID_ELSEWHERE = "CORE-1023", "CORE-1028"
UNKNOWN_TYPE, WRONG_AMOUNT, WRONG_CURRENCY = "CORE-1024", "CORE-2016", "CORE-2017"
CARD_AND_PROOF = "CORE-1025"
WRONG_NUMBER, WRONG_EXPIRY, EXPIRED, WRONG_CVC = "CORE-2012", "CORE-2010", "CORE-2011", "CORE-2208"
WRONG_INSTALLMENTS = "CORE-2204"
# Nothing was charged: the terminal.
UNKNOWN_CLIENT, WRONG_PASSWORD = "CORE-2201", "CORE-2202"
NOT_HALF_SECURE = "CORE-2206"
# The order, or what was done to it, does not let it.
HAS_SUCCEEDED, IS_UNDER_WAY = "CORE-2507", "CORE-2304"
DOES_NOT_FIT, XID_USED = "CORE-2121", "CORE-2127"
NOTHING_TO_VOID, NO_SUCH_TRANSACTION, NUMBER_MISSING = "CORE-2008", "CORE-2120", "CORE-2133"
NOTHING_TO_CAPTURE, ABOVE_AUTHORIZED = "CORE-2509", "CORE-2505"
NET_IS_ZERO, TOO_LATE_TO_CAPTURE = "CORE-2506", "CORE-2513"
OTHER_CURRENCY = "CORE-2119"
NOT_SETTLED, ABOVE_NET, IS_REFUNDED = "CORE-2508", "CORE-2503", "CORE-2504"
NOTHING_TO_REFUND = "CORE-2501"
# The bank does not know.
HOST_SILENT, TIMED_OUT = "CORE-1003", "92"

DECLINED = "Issuer declined"
WORDS = {
    UNREADABLE: "İstek okunamadı.",
    MISSING: "Zorunlu alan eksik.",
    WRONG_FORM: "Alan geçerli formatta değil.",
    WRONG_ORDER: "Alanların sırası geçersiz.",
    WRONG_AMOUNT: "Tutar geçerli formatta değil.",
    WRONG_CURRENCY: "Para birimi geçersiz.",
    WRONG_NUMBER: "Kredi kartı numarası geçerli formatta değil.",
    WRONG_EXPIRY: "Son kullanma tarihi geçerli formatta değil.",
    EXPIRED: "Kartın süresi dolmuş.",
    WRONG_CVC: "CVV geçerli formatta değil.",
    WRONG_INSTALLMENTS: "Taksit sayısına izin verilmiyor.",
    UNKNOWN_CLIENT: "Üye işyeri bulunamadı.",
    WRONG_PASSWORD: "Kullanıcı adı veya şifre hatalı.",
    HAS_SUCCEEDED: "Bu siparişin başarılı bir işlemi var.",
    IS_UNDER_WAY: "Bu siparişin süren bir işlemi var.",
    DOES_NOT_FIT: "3D bilgileri uyuşmuyor.",
    XID_USED: "Aynı xid ile daha önce işlem yapılmış.",
    NOTHING_TO_VOID: "İptal edilecek bir işlem yok.",
    NUMBER_MISSING: "Birden çok işlem var, TransId gerekli.",
    NOT_SETTLED: "Gün sonu yapılmamış, iade edilemez.",
    ABOVE_NET: "Net tutardan fazlası iade edilemez.",
    IS_REFUNDED: "Siparişin net tutarı sıfır.",
    NOTHING_TO_CAPTURE: "Eşleşen bir ön otorizasyon yok.",
}
REFUSED = "İşlem yapılamadı."
