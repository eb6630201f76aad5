"""`python -m reme_compact`: the command line, where `reme` is not on the path."""

import sys

from reme_compact.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
