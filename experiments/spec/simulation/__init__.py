"""Specifications of simulations: simulated routers, their path decisions, and traffic."""
