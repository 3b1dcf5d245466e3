"""Routing algorithms, one module each: rules of source routers and, if adaptive, a law for detours."""
