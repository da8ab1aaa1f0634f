"""Reads series as JSON, prints the indices of the change points that Apache Otava finds in each at its defaults."""
import json
import sys

from otava.series import AnalysisOptions, Metric, Series

answers = []
for values in json.load(sys.stdin):
    series = Series("test", None, list(range(len(values))), {"iops": Metric(1, 1.0)}, {"iops": values}, {})
    analyzed = series.analyze(AnalysisOptions())
    answers.append([int(point.index) for point in analyzed.change_points["iops"]])
json.dump(answers, sys.stdout)
