"""A door for the checkout: the program is in the package, as `anonrisk example citizens`."""

import sys

from anonrisk.datasets.examples.citizens import main

if __name__ == "__main__":
    sys.exit(main())
