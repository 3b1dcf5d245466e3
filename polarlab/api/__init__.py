"""Functions and classes of `import polarlab`, by topic; each is loaded when it is first used."""
