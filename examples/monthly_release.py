"""A door for the checkout: the program is in the package, as `anonrisk example monthly_release`."""

import sys

from anonrisk.datasets.examples.monthly_release import main

if __name__ == "__main__":
    sys.exit(main())
