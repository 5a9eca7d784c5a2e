from acquirers.models.exchanges import BankExchange
from acquirers.models.terminals import Terminal

__all__ = ["BankExchange", "Terminal"]
