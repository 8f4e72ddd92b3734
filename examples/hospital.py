"""A door for the checkout: the program is in the package, as `anonrisk example hospital`."""

import sys

from anonrisk.datasets.examples.hospital import main

if __name__ == "__main__":
    sys.exit(main())
