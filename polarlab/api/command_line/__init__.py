"""Names of other packages that the command line needs in addition to `import polarlab`."""
