"""A door for the checkout: the program is in the package, as `anonrisk example lodha_thomas`."""

import sys

from anonrisk.datasets.examples.lodha_thomas import main

if __name__ == "__main__":
    sys.exit(main())
