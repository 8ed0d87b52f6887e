"""How many random cases Hypothesis tries: few and repeatable by default, many where HYPOTHESIS_PROFILE says `long`; and
which tests run in one process: those on Spark, on PostgreSQL, and those of a file that share what was made once."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("short", max_examples=16, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
gc.disable()  # until all tests are collected: a third of that time went into looking through what stays anyway


def pytest_collection_finish() -> None:
    """Collect garbage again, but leave what every test needs alone."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)  # statements are made of many small parts, of which hardly any is garbage
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together what would be started or made again in every process."""
    for item in items:
        server = next((name for name in ("spark", "postgres") if name in item.nodeid), None)
        if server is not None:
            item.add_marker(pytest.mark.xdist_group(server))
        elif _shares(item) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


def _shares(item: pytest.Item) -> bool:
    """Whether a test has a fixture that is made once for its file."""
    known = getattr(item, "_fixtureinfo", None)
    return known is not None and any(found[-1].scope == "module" for found in known.name2fixturedefs.values() if found)


@pytest.fixture(autouse=True, scope="session")
def _charts_are_drawn_here() -> Iterator[None]:
    """Let commands that are called in this process draw charts in it: what draws them was started long ago."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ringfence.report.artist._is_quicker", lambda: False)
        yield
