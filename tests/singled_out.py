"""Eight people of whom some are alone, for the tests of what singles them out."""

from __future__ import annotations

import datetime as dt

PEOPLE = {
    "id": list(range(8)),
    "zip": ["11", "11", "12", "12", "21", "21", None, "11"],
    "age": [30, 31, 30, 31, 30, 30, 31, 30],
    "sex": ["f", "m", "f", "m", "m", "f", "f", "f"],
    "born": [dt.date(2000, 1, 1 + day) for day in (0, 0, 1, 1, 2, 9, 3, 0)],
}
QID = ["zip", "age", "sex", "born"]
