"""Examination of this machine: requirements, available features and the fabrics that it can carry."""
