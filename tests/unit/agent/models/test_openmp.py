"""Where the system has no OpenMP runtime, the wheel's is found."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from agent.models.local.bundled import OPENMP_LIBRARY, SEARCH_PATH, _find_in_wheel, with_openmp


def test_a_library_of_the_system_needs_nothing() -> None:
    assert with_openmp({"A": "b"}, library="libc.so.6") == {"A": "b"}


@pytest.mark.local_model
def test_a_library_that_only_the_wheel_has_is_put_on_the_path() -> None:
    environment = with_openmp({SEARCH_PATH: "/opt/lib"}, library="libiomp5.so")
    first, second = environment[SEARCH_PATH].split(":")
    assert second == "/opt/lib"
    assert (Path(first) / OPENMP_LIBRARY).exists()


def test_what_nobody_has_is_left_to_the_loader() -> None:
    assert with_openmp({}, library="libnothing.so.9") == {}
    assert with_openmp({}, library="libnothing.so.9", wheel="no-such-wheel") == {}


@pytest.mark.local_model
def test_the_wheels_library_can_be_loaded() -> None:
    folder = _find_in_wheel(OPENMP_LIBRARY, "cmeel-libomp")
    if folder is None:
        pytest.fail("cmeel-libomp is not installed: make install-toy-model")
    assert ctypes.CDLL(str(folder / OPENMP_LIBRARY)).omp_get_max_threads() >= 1
