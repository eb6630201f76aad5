"""The command line `reme`: a thin edge over the library and the service."""
