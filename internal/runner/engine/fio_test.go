package engine

import "testing"

func TestStatusLinesAreNoMessages(t *testing.T) {
	printed := "fio: a warning\nJobs: 1 (f=1): [r(1)][40.0%][r=1024MiB/s][r=262k IOPS][eta 00m:03s]\rJobs: 1 (f=1): " +
		"[r(1)][60.0%][eta 00m:02s]\n\nfio: an error\n"
	if got := withoutStatus([]byte(printed)); got != "fio: a warning\nfio: an error\n" {
		t.Errorf("%q", got)
	}
}
