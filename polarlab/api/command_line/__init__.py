"""Names of other packages that the command line needs beside those of `import polarlab`."""
