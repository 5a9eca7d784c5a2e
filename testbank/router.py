class BankRouter:
    def db_for_read(self, model, **hints):
        return "bank" if model._meta.app_label == "testbank" else None

    db_for_write = db_for_read

    def allow_relation(self, one, other, **hints):
        return None

    def allow_migrate(self, db, app_label, **hints):
        return (db == "bank") == (app_label == "testbank")
