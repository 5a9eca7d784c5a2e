"""The service's database with a clock on its transactions: a Django backend."""
