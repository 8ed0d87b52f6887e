"""What a wheel is built with: kernels that were compiled ahead, where RINGFENCE_KERNELS says in which folder they are.

Such a wheel is for one version of Python, and for Linux on x86-64, and its tag says so. Nothing in it is linked with
libraries of the system, so that it goes with any that numba goes with. Without the variable the wheel is for all.
"""

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the folder into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Take the folder in, and say what the wheel is for."""
        folder = os.environ.get("RINGFENCE_KERNELS")
        if folder and version != "editable":
            python = f"cp{sys.version_info.major}{sys.version_info.minor}"
            build_data["force_include"][folder] = "ringfence/compiled"
            build_data["pure_python"] = False
            build_data["tag"] = f"{python}-{python}-manylinux_2_17_x86_64"
