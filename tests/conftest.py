"""Settings for every test: how much is generated, and no dependence on the speed of the machine."""

import os

from hypothesis import settings

settings.register_profile("dev", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
