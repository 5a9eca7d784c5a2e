"""The database engine of every process: Django's for PostgreSQL, patient where it has to be."""
