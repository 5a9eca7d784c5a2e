"""Django, set up: for programs of the benchmark that use the service's own modules.

Imported for this alone, before what needs it.
"""

import django

django.setup()
