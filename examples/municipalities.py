"""A door for the checkout: the program is in the package, as `anonrisk example municipalities`."""

import sys

from anonrisk.datasets.examples.municipalities import main

if __name__ == "__main__":
    sys.exit(main())
