"""`python -m lowd` is the command `lowd`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
