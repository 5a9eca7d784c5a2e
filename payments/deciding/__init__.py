"""A person's decisions about rows that the bank leaves unknown (contract: Cases).

Cases are opened (`watch`), decided (`decisions`), and compared with the bank's later answer
(`comparing`), in the same way for every kind of rows.
"""
