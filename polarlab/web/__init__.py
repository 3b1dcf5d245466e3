"""The live page: a fabric in the browser, watched, broken and mended there.

The process of the fabric (`page_server`) starts a process without rights (`service`) that speaks HTTP;
between them runs a channel of JSON lines, on which the latter may ask for nothing but the actions of
`actions`.
"""
