"""Commands of `polarlab`, a module each: SUMMARY, EXAMPLES and `run(arguments)`.

`polarlab --help` loads all of them, so their modules import at the top only what costs no time; a command's
libraries are loaded when it runs.
"""
