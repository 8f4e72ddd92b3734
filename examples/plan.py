"""A door for the checkout: the program is in the package, as `anonrisk example plan`."""

import sys

from anonrisk.datasets.examples.plan import main

if __name__ == "__main__":
    sys.exit(main())
