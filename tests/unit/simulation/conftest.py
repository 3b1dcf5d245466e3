"""The kernels, which one process compiles while the others wait for its result in the cache."""

import fcntl

import pytest
from simulated_networks import polarfly_pattern, polarfly_tables, simulated

from simulation.kernels.compiled import cache_folder


@pytest.fixture(scope="session")
def compiled_kernels():
    """Compiles the kernels, or loads them."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / ".compiling").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        simulated(
            polarfly_tables(2, 1, "min"),
            polarfly_pattern(2, 1, "uniform"),
            warmup=10,
            window=10,
            most_drain=0,
        )
