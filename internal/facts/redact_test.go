package facts

import (
	"strings"
	"testing"

	"headroom/internal/lab"
)

// TestRedactMachines hides the names in every saved machine: none may be left anywhere, and nothing else may change.
func TestRedactMachines(t *testing.T) {
	names := []string{"S6CKNN0T", "storage-17", "0b1f2c3d-8a4e", "c2a7a9a2-6b45", "192.0.2.", "5000c500c0000001", "36434b304e50",
		"23072F000003", "bench-7c9d8f5b6", "files.example.org", "11111111-2222", "VD0000000001"}
	seen := map[string]bool{}
	for _, m := range machines(t) {
		places := []string{m.place}
		if m.name == "stacked" {
			places = append(places, "/mnt/my share")
		}
		for _, p := range places {
			place, err := ResolvePlace(t.Context(), m, p)
			if err != nil {
				t.Fatal(err)
			}
			before, err := Snapshot(t.Context(), m, place)
			if err != nil {
				t.Fatal(err)
			}
			after := Redact(before)
			for i := range before {
				plain, redacted := line(before[i]), line(after[i])
				named := false
				for _, n := range names {
					seen[n] = seen[n] || strings.Contains(plain, n)
					named = named || strings.Contains(plain, n)
					if strings.Contains(redacted, n) {
						t.Errorf("%s: %s is still in: %s", m.name, n, redacted)
					}
				}
				if !named && redacted != plain && !secret(before[i].Key) {
					t.Errorf("%s: changed without need:\n%s%s", m.name, plain, redacted)
				}
			}
		}
	}
	for _, n := range names {
		if !seen[n] {
			t.Errorf("no saved machine names %s, so nothing was shown", n)
		}
	}
}

func TestRedactText(t *testing.T) {
	r := NewRedactor([]lab.Fact{
		{Key: "disk.under-test.serial", Value: "S6CKNN0T"},
		{Key: "host.name", Value: "db1.example"},
		{Key: "os.name", Value: "Debian"},
	})
	got := r.Text("/dev/disk/by-id/nvme-X_S6CKNN0T on db1.example, Debian, mac 02:42:ac:11:00:02, 6.12.0")
	if got != r.Text(got) {
		t.Errorf("redacting twice changes %q", got)
	}
	if strings.Contains(got, "S6CKNN0T") || strings.Contains(got, "db1") || strings.Contains(got, "02:42") {
		t.Errorf("names are left: %q", got)
	}
	if !strings.HasPrefix(got, "/dev/disk/by-id/nvme-X_hidden-") || !strings.Contains(got, "Debian") ||
		!strings.HasSuffix(got, "6.12.0") {
		t.Errorf("more is gone than names: %q", got)
	}
	if hidden("a") == hidden("b") {
		t.Error("two names give the same text")
	}
}
