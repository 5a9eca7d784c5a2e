from acquirers.models.exchanges import BankExchange
from acquirers.models.routes import Route
from acquirers.models.terminals import Terminal

__all__ = ["BankExchange", "Route", "Terminal"]
