"""Codes of the Garanti doors, and the bank's sentence for each.

Codes that the protocol's public facts do not name are numbers of the same form.
"""

# Of the gateway: with code 92, and nothing was charged.
UNREADABLE, MISSING, WRONG_FORM, WRONG_ORDER = "0001", "0002", "0003", "0004"
UNKNOWN_ELEMENT, UNKNOWN_TYPE, CARD_AND_PROOF = "0005", "0006", "0007"
WRONG_NUMBER, WRONG_EXPIRY, EXPIRED, WRONG_CVC = "0011", "0012", "0013", "0014"
WRONG_INSTALLMENTS, WRONG_CURRENCY = "0015", "0016"
NO_ORDER, NO_TRANSACTION, THREE_D = "0108", "0110", "0122"
REPEATED, OTHER_CURRENCY = "0202", "0203"
NOT_THIS_WAY, NOTHING_TO_CAPTURE = "0208", "0209"
WRONG_PASSWORD, UNKNOWN_TERMINAL = "0651", "0752"
# Of the host.
APPROVED, ABOVE_AUTHORIZED = "00", "13"
# The bank does not know how it ends, or has not heard from its host.
IN_PROGRESS, TIMED_OUT = "09", "68"

WORDS = {
    UNREADABLE: "Mesaj okunamadı.",
    MISSING: "Zorunlu alan eksik.",
    WRONG_FORM: "Alan formatı hatalı.",
    WRONG_ORDER: "Alanların sırası hatalı.",
    UNKNOWN_ELEMENT: "Bilinmeyen alan.",
    NO_ORDER: "Bu sipariş için kayıt bulunamadı.",
    NO_TRANSACTION: "İşlem bulunamadı.",
    THREE_D: "3D doğrulaması geçersiz.",
    REPEATED: "Bu sipariş numarası daha önce kullanılmış.",
    NOT_THIS_WAY: "İşlem bu şekilde iade veya iptal edilemez.",
    WRONG_PASSWORD: "Kullanıcı şifresi veya güvenlik verisi hatalı.",
    UNKNOWN_TERMINAL: "Terminal bulunamadı.",
}
REFUSED = "İşleminizi gerçekleştiremiyoruz. Tekrar deneyiniz."
# A code of the host's that says more here than its number does.
WRONG_CVC_WORDS = "CVC2/4CSC HATALI"
# The book's codes that this bank writes otherwise.
WRITTEN_AS = {"82": "12", "1A": "65"}
SYSTEM_WORDS = {"82": WRONG_CVC_WORDS}
