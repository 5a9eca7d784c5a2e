"""The part of the statement that finds a caller's key, which finds the active BINs' version, too.

No model is imported: `merchants.authentication` reads this by its setting.
"""

VERSION = "SELECT version.id::text FROM installments_binimport version WHERE version.is_active"
