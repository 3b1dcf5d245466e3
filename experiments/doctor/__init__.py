"""Examination of this machine: requirements, features and the fabrics that it carries."""
