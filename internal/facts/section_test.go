package facts

import (
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestSections(t *testing.T) {
	got := Sections([]lab.Fact{
		{Key: "cpu.threads", Value: "8"},
		{Key: "disk.size", About: "sda", Value: "1"},
		{Key: "disk.size", About: "sdb", Value: "2"},
		{Key: "cpu.idle.driver", Value: "none"},
		{Key: "disk.queue.nr_requests", About: "sda", Value: "256"},
		{Key: "disk.under-test.queue.nr_requests", Value: "256"},
		{Key: "alone", Value: "x"},
	})
	want := []struct {
		title string
		names []string
	}{
		{"cpu", []string{"threads", "idle.driver"}}, {"disk sda", []string{"size", "queue.nr_requests"}},
		{"disk sdb", []string{"size"}},
		{"disk under test", []string{"queue.nr_requests"}}, {"alone", []string{"alone"}},
	}
	if len(got) != len(want) {
		t.Fatalf("%d sections: %v", len(got), got)
	}
	for i, w := range want {
		if got[i].Title != w.title || len(got[i].Rows) != len(w.names) {
			t.Errorf("section %d is %v, not %v", i, got[i], w)
			continue
		}
		for j, name := range w.names {
			if got[i].Rows[j].Name != name {
				t.Errorf("row %d of %s is %q, not %q", j, w.title, got[i].Rows[j].Name, name)
			}
		}
	}
}
