"""How gunicorn runs the test bank: one process, a thread for each request at the same time."""

import os

bind = os.environ.get("BANK_BIND", "127.0.0.1:8100")
workers = 1
# A silent card holds a thread for seconds. Two web processes ask 96 times at once, each Celery
# process of the sweeper 8 times, and payers look at pages.
threads = int(os.environ.get("BANK_THREADS", "128"))
graceful_timeout = 2
# The default socket lies in the home directory, where two instances would share it.
control_socket_disable = True
