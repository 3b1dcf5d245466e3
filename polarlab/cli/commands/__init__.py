"""Commands of `polarlab`, one module each: SUMMARY, EXAMPLES and `run(arguments)`.

`polarlab --help` loads all of them, so they import only cheap modules at the top. A command imports its
libraries when it runs.
"""
