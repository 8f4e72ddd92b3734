"""A door for the checkout: the program is in the package, as `anonrisk example railway_card`."""

import sys

from anonrisk.datasets.examples.railway_card import main

if __name__ == "__main__":
    sys.exit(main())
