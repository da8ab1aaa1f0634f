//go:build system

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
)

// Two snapshots of this machine, of which the second has some sysctls otherwise: what can be set is searched, the rest
// is named, and all is put back.
func TestABisectionBetweenTwoMachines(t *testing.T) {
	t.Parallel()
	ownNetwork(t)
	v, _ := bisectFixture(t)
	names := []string{"tcp_keepalive_time", "tcp_keepalive_intvl", "tcp_fin_timeout"}
	state := func() (all string) {
		for _, name := range names {
			all += contentOf(t, netSetting(name))
		}
		return all
	}
	before := state()
	if err := os.WriteFile(v.suite, []byte(`version: 1
jobs:
  - name: work
    exec: [sh, -c, 'if [ "$(cat `+netSetting(names[0])+`)" = 7007 ]; then echo took 150; else echo took 50; fi']
    metrics: {took: {match: 'took ([0-9]+)', unit: s, better: lower, decides: true}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := v.command("facts", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good.json")
	if err := os.WriteFile(good, out, 0o644); err != nil {
		t.Fatal(err)
	}
	bad := changedSnapshot(t, out, map[string]string{
		"sysctl.net.ipv4.tcp_keepalive_time": "7007", "sysctl.net.ipv4.tcp_keepalive_intvl": "71",
		"sysctl.net.ipv4.tcp_fin_timeout": "55",
		"sysctl.kernel.osrelease":         "1.2.3", "sysctl.kernel.core_pattern": "x",
		"kernel.config.INIT_ON_FREE_DEFAULT_ON": "y",
	})
	cmd := v.command("bisect", "facts", good, bad, v.suite, "--seed", "1")
	var log strings.Builder
	cmd.Stderr = &log
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, log.String(), out)
	}
	d := found(t, v)
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 ||
		d.Culprits[0].Factor != "sysctl:net.ipv4.tcp_keepalive_time" || d.Culprits[0].Bad != "7007" {
		t.Errorf("%s: %+v\n%s", d.Outcome, d.Culprits, log.String())
	}
	if len(d.Candidates) != 3 {
		t.Errorf("candidates: %+v", d.Candidates)
	}
	i := slices.IndexFunc(d.Warnings, func(w lab.CountedWarning) bool { return w.Code == "not-settable" })
	if i < 0 || !strings.Contains(d.Warnings[i].Text, "kernel.osrelease") ||
		!strings.Contains(d.Warnings[i].Text, "kernel.core_pattern") {
		t.Errorf("warnings: %+v", d.Warnings)
	}
	if u := d.Excluded; u == nil || u.Count != 1 || !slices.Equal(u.First, []string{"INIT_ON_FREE_DEFAULT_ON"}) {
		t.Errorf("not searched: %+v", u)
	}
	if after := state(); after != before {
		t.Errorf("was %q and is %q", before, after)
	}
}

// changedSnapshot is a snapshot with some facts of other values, in a file; those that the snapshot does not have are
// added.
func changedSnapshot(t *testing.T, snapshot []byte, values map[string]string) (file string) {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(snapshot, &document); err != nil {
		t.Fatal(err)
	}
	all, _ := document["facts"].([]any)
	for _, f := range all {
		fact, _ := f.(map[string]any)
		key, _ := fact["fact"].(string)
		if value, ok := values[key]; ok {
			fact["value"] = value
			delete(fact, "unknown")
			delete(values, key)
		}
	}
	for key, value := range values {
		all = append(all, map[string]any{"fact": key, "value": value})
	}
	document["facts"] = all
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
