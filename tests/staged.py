"""An engine that counts regions as Spark does, on pandas: slow, obvious, and it notes how many."""

from __future__ import annotations

from collections import Counter

import numpy as np

from anonrisk.engines import engine_for
from anonrisk.engines.numpy.tally import coded_rows
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.measures.counts import question
from anonrisk.measures.counts.question import (
    ClassesInRegions,
    ClassesWithValues,
    Question,
    ValuesAndSizes,
)
from anonrisk.measures.counts.tally import PlacedTally


class StagedEngine:
    """Answers what a plan by region asks, with a bound on what it brings."""

    def __init__(self, table):
        self.table, self.below = table, engine_for(table)
        self.asked: list[int] = []

    def tally(self, frame, asked):
        if isinstance(asked, ClassesInRegions):
            return self.classes(asked)
        if isinstance(asked, ValuesAndSizes):
            columns = [ClassesWithValues((name,)) for name in asked.columns]
            (sizes,) = self.below.count(frame, Question((asked.qid,)))
            return [self.below.tally(frame, each) for each in columns], sizes
        return self.below.tally(frame, asked)

    def places(self, recodings):
        made = []
        for name, recoding in recodings.items():
            domain, codes = coded_rows(PandasTable(self.table), name)
            groups, _ = recoding.groups(domain)
            made.append(np.append(groups, recoding.missing)[codes])
        return made

    def classes(self, asked):
        places = self.places(asked.places)
        region = np.zeros(len(self.table), dtype=np.int64)
        if asked.regions is not None:
            region = asked.regions.find(self.places(asked.regions.columns))
        held = {name: coded_rows(PandasTable(self.table), name) for name in asked.values}
        cells = zip(region, *places, *(codes for _, codes in held.values()), strict=True)
        counted = Counter(
            tuple(map(int, cell))
            for cell in cells
            if asked.regions is None or cell[0] in asked.chosen
        )
        self.asked.append(len(counted))
        if len(counted) > (question.MAX_CLASSES if asked.values else question.MAX_PLACED):
            return None
        columns = [np.array(column) for column in zip(*counted, strict=True)]
        values = {
            name: (domain, columns[1 + len(places) + i])
            for i, (name, (domain, _)) in enumerate(held.items())
        }
        counts = np.array(list(counted.values()))
        return PlacedTally(columns[0], columns[1 : 1 + len(places)], counts, values)
