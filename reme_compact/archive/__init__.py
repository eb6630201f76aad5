"""Where originals are kept, and how they are read back, whole or in pieces.

Everything here is synchronous; a caller with an event loop runs it in worker threads.
"""
