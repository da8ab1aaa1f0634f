"""Plays searches with the ddmin of picire at its defaults.

A line "CANDIDATES" begins a search; with "ask CANDIDATE..." it asks whether these together make slow, and is told 1, 0 or "stop". "found
CANDIDATE..." ends it, without any where it was stopped. What was asked once is not asked again.
"""
import sys

from picire import DD, Outcome


class Stopped(Exception):
    pass


for line in sys.stdin:
    candidates = list(range(int(line)))
    outcomes = {tuple(candidates): Outcome.FAIL}  # the slow end

    def test(config, _):
        key = tuple(config)
        if key not in outcomes:
            print("ask", *config, flush=True)
            answer = sys.stdin.readline().strip()
            if answer == "stop":
                raise Stopped
            outcomes[key] = Outcome.FAIL if answer == "1" else Outcome.PASS
        return outcomes[key]

    try:
        print("found", *DD(test)(candidates), flush=True)
    except Stopped:
        print("found", flush=True)
