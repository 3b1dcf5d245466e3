"""Specifications of simulations: fabrics of simulated routers, their decisions, and their traffic."""
