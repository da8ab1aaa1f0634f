package compare

import "slices"

// doubts are the codes of warnings that leave a number what the load really did, and say that something else than the storage had a
// hand in it: others at work, a machine that was not steady, a load that was short or that the generator could not drive further. All
// other warnings say that the number is not what it is called.
func doubts() []string {
	return []string{"short-run", "few-operations", "generator-bound", "clock-source", "unsynced-writes", "not-preconditioned",
		"discard-unsupported", "warming-up", "drifting", "not-steady", "stalls", "other-load", "busy-before", "store-on-device", "cpu-steal",
		"throttled", "cpu-frequency", "disk-hot", "position-effect", "fresh-layout"}
}

// onlyDoubts says whether all the reasons are doubts: the change then is worth a look, though no verdict.
func onlyDoubts(reasons []Reason) bool {
	return len(reasons) > 0 && !slices.ContainsFunc(reasons, func(r Reason) bool {
		return r.Code != "warning" || !slices.Contains(doubts(), r.Items[0].Name)
	})
}

// wouldBe fills in, of each number that is incomparable for doubts alone, the change that Options.Anyway would judge, with the interval
// that it would be judged by.
func wouldBe(list []pending, confidence float64) (doubtful int) {
	power := newPower(confidence)
	for i := range list {
		p := &list[i]
		if p.cell.Verdict == Incomparable && p.possible() && onlyDoubts(p.cell.Reasons) {
			p.cell.Would = newChange(p.sample, p.sample.change(power))
			doubtful++
		}
	}
	return doubtful
}
