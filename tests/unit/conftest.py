"""The simulator's kernels, which one process compiles while the others wait for its result in the cache."""

import fcntl

import pytest


@pytest.fixture(scope="session")
def compiled_kernels():
    """Compiles the kernels, or loads them."""
    import kernel_cases  # numba, which most tests do not need

    from simulation.kernels.compiled import cache_folder

    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / ".compiling").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernel_cases.digests()
