"""A door for the checkout: the program is in the package, as `anonrisk example priors`."""

import sys

from anonrisk.datasets.examples.priors import main

if __name__ == "__main__":
    sys.exit(main())
