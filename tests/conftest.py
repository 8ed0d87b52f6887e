"""How many random cases Hypothesis tries: few and repeatable by default, many where HYPOTHESIS_PROFILE says `long`; and
that the tests on Spark run in one process, so that one session serves them all."""

import os

import pytest
from hypothesis import settings

settings.register_profile("short", max_examples=16, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what needs Spark together."""
    for item in items:
        if "spark" in item.nodeid:
            item.add_marker(pytest.mark.xdist_group("spark"))
