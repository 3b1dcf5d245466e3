"""Events of experiments: typed progress reports, passed to one callback."""
