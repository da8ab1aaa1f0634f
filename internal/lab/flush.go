package lab

import "strconv"

// FlushDominates is the share of time spent in flushes from which a load of synced writes measures flushes more than
// writes.
const FlushDominates = 0.5

// FlushShare returns the share of time that a load of synced writes (fsync or fdatasync, fio's options) spends in
// flushes, computed from the mean latencies of both. It is unknown if the load does not flush, or a latency is missing.
func FlushShare(params map[string]string, value func(metric string) (float64, bool)) (share float64, known bool) {
	every := 0.0 // writes for each flush
	for _, option := range []string{"fsync", "fdatasync"} {
		if n, err := strconv.Atoi(params[option]); err == nil && n > 0 && (every == 0 || float64(n) < every) {
			every = float64(n)
		}
	}
	flush, flushed := value(Latency(Sync, "mean"))
	write, written := value(Latency(Write, "mean"))
	submit, _ := value(Write + ".submit_latency.mean")
	if every == 0 || !flushed || !written || !(flush > 0) {
		return 0, false
	}
	return flush / (flush + every*(write+submit)), true
}
