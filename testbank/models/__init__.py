"""The bank's own book of what it really did. It holds a behaviour's name, never a card number."""

from testbank.models.authentications import Authentication
from testbank.models.authorizations import Authorization, Capture, Reversal
from testbank.models.disputes import Chargeback, Dispute, Evidence, Recovery
from testbank.models.frauds import FraudReport
from testbank.models.garanti import GarantiLine, GarantiVisit
from testbank.models.misbehaviours import Misbehaviour
from testbank.models.nestpay import NestpayLine, NestpayVisit
from testbank.models.notices import Notice, NoticeCounter
from testbank.models.protocols import GateVisit, OrderLine
from testbank.models.refunds import Bounce, Refund, Repayment
from testbank.models.transfers import (
    IncomingMove,
    IncomingTransfer,
    Transfer,
    TransferMove,
    TransferNotice,
    TransferNoticeCounter,
)

__all__ = [
    "Authentication", "Authorization", "Bounce", "Capture", "Chargeback", "Dispute", "Evidence",
    "FraudReport", "GarantiLine", "GarantiVisit", "GateVisit", "IncomingMove",
    "IncomingTransfer", "Misbehaviour", "NestpayLine", "NestpayVisit", "Notice",
    "NoticeCounter", "OrderLine", "Recovery", "Refund", "Repayment", "Reversal", "Transfer",
    "TransferMove", "TransferNotice", "TransferNoticeCounter",
]  # fmt: skip
