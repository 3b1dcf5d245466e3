"""The live page: watch a fabric in the browser, break it and repair it.

The fabric's process (`page_server`) starts an unprivileged process (`service`) that speaks HTTP. They
communicate over a channel of JSON lines, on which the web process can only request the actions in `actions`.
"""
