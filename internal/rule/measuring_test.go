package rule

import "testing"

func TestMeasuring(t *testing.T) {
	for measure, want := range map[string]string{
		"": "",
		"headroom ablate quick DIR --setting queue:scheduler=none": "headroom ablate quick DIR --setting " +
			"queue:scheduler=none",
		"headroom run nfs DIR": "headroom run nfs DIR --label before\nheadroom run nfs DIR --label after # once it " +
			"is changed\nheadroom compare before after",
		"headroom net --on server=SERVER": "headroom net --on server=SERVER --label before\nheadroom net --on " +
			"server=SERVER --label after # once it is changed\nheadroom compare before after",
	} {
		if got := (Rule{Measure: measure}).Measuring(); got != want {
			t.Errorf("%q: %q, not %q", measure, got, want)
		}
	}
}
