"""Plays searches with git_bayesect: what "git bayesect run" does, without the checkouts.

A line "STEPS" begins a search; with "ask STATE" it asks whether the state after so many steps is slow, and is told 1, 0 or "stop".
"found STEP" ends it, without a step where it was stopped. What the ends are is
recorded first.
"""
import sys

import numpy as np
from git_bayesect import Bisector

CONFIDENCE = 0.95  # the default of "git bayesect run"

for line in sys.stdin:
    steps = int(line)
    bisector = Bisector(np.ones(steps + 1))  # index 0 is the newest state, as in get_bisector
    bisector.record(0, True)
    bisector.record(steps, False)
    while bisector.distribution.max() < CONFIDENCE:
        index = bisector.select()
        print("ask", steps - index, flush=True)
        answer = sys.stdin.readline().strip()
        if answer == "stop":
            print("found", flush=True)
            break
        bisector.record(index, answer == "1")
    else:
        print("found", steps - int(np.argmax(bisector.distribution)) - 1, flush=True)
