"""How many random cases Hypothesis tries: few and repeatable by default, many where HYPOTHESIS_PROFILE says `long`."""

import os

from hypothesis import settings

settings.register_profile("short", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
