package kconfig

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func published(t testing.TB, name string) ([]byte, Config) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".config.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, c
}

func plain(t testing.TB, name string) Config {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParse(t *testing.T) {
	const text = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"say \\\"hi\\\" \\\\ there\" # no\nCONFIG_D=0x10\n" +
		"CONFIG_E=\"\"\r\n# CONFIG_F is broken\n# a comment\nnonsense\nCONFIG_G\nCONFIG_A=m\nCONFIG_=y\nCONFIG_bad " +
		"name=y\nCONFIG_H=\nCONFIG_I=\"cut o"
	c, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{"A": "m", "B": "n", "C": `say "hi" \ there`, "D": "0x10", "E": ""}
	if len(c) != len(want) {
		t.Errorf("got %q", c)
	}
	for name, value := range want {
		if got, ok := c[name]; !ok || got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e.line) <= len(p) {
		n += copy(p[n:], e.line)
	}
	return n, nil
}

func TestParseRefuses(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"nothing":       strings.NewReader(""),
		"another file":  strings.NewReader("#!/bin/sh\necho CONFIG_A=y\n"),
		"endless lines": endless{"CONFIG_A=y\n"},
		"one long line": endless{"CONFIG_A=y "},
	} {
		if c, err := Parse(in); err == nil {
			t.Errorf("%s: taken for a configuration of %d options", name, len(c))
		}
	}
}

func TestParsePublished(t *testing.T) {
	for name, want := range map[string]struct {
		options       int
		arch, release string
	}{
		"debian-6.1.0-50":           {8776, "x86", "6.1.176"},
		"debian-6.1.0-56-arm64":     {9598, "arm64", "6.1.192"},
		"debian-6.12.111":           {9502, "x86", "6.12.111"},
		"talos-6.6.57-iommu-strict": {5361, "x86", "6.6.57"},
		"talos-6.6.57-iommu-lazy":   {5361, "x86", "6.6.57"},
	} {
		text, c := published(t, name)
		if len(c) != want.options {
			t.Errorf("%s has %d options, want %d", name, len(c), want.options)
		}
		if arch, release := Header(text); arch != want.arch || release != want.release {
			t.Errorf("%s is for %s on %s", name, release, arch)
		}
	}
}

// The number that the kernel's own script has no word for: options that differ when absent is n.
func TestCompareCounts(t *testing.T) {
	_, strict := published(t, "talos-6.6.57-iommu-strict")
	_, lazy := published(t, "talos-6.6.57-iommu-lazy")
	_, debian := published(t, "debian-6.1.0-50")
	if n := len(Compare(strict, debian)); n != 4905 {
		t.Errorf("%d options differ, want 4905", n)
	}
	var out bytes.Buffer
	if err := Diffconfig(&out, strict, debian, false); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 6222 {
		t.Errorf("diffconfig prints %d lines, want 6222", n)
	}
	changes := Compare(strict, lazy)
	if len(changes) != 2 || changes[0].Option != "IOMMU_DEFAULT_DMA_LAZY" ||
		changes[1].Option != "IOMMU_DEFAULT_DMA_STRICT" {
		t.Errorf("%+v", changes)
	}
}

func TestCompare(t *testing.T) {
	a := Config{"BUILT": "y", "UNSET": "n", "GONE": "y", "EMPTY": "", "NUMBER": "250", "SAME": "m"}
	b := Config{"BUILT": "m", "NEW": "m", "NEWOFF": "n", "NUMBER": "1000", "SAME": "m"}
	var got []string
	for _, c := range Compare(a, b) {
		got = append(got, fmt.Sprintf("%v %v %s %s>%s", c.InA, c.InB, c.Option, c.A, c.B))
	}
	want := "true true BUILT y>m, true false EMPTY >n, true false GONE y>n, false true NEW n>m, " +
		"true true NUMBER 250>1000"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if n := len(Compare(b, a)); n != len(got) {
		t.Errorf("%d the other way round", n)
	}
}

// The golden files were printed by the kernel's own script.
func TestDiffconfig(t *testing.T) {
	_, strict := published(t, "talos-6.6.57-iommu-strict")
	_, lazy := published(t, "talos-6.6.57-iommu-lazy")
	for golden, pair := range map[string][2]Config{
		"strict-lazy.diffconfig": {strict, lazy},
		"mixed.diffconfig":       {plain(t, "mixed-a.config"), plain(t, "mixed-b.config")},
	} {
		want, err := os.ReadFile(filepath.Join("testdata", golden))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := Diffconfig(&got, pair[0], pair[1], false); err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", golden, got.String(), want)
		}
	}
	want, err := os.ReadFile("testdata/mixed-merge.diffconfig")
	if err != nil {
		t.Fatal(err)
	}
	var merge bytes.Buffer
	if err := Diffconfig(&merge, plain(t, "mixed-a.config"), plain(t, "mixed-b.config"), true); err != nil {
		t.Fatal(err)
	}
	if merge.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", merge.String(), want)
	}
}

// The output of Line is parsed back, also if text looks like another kind of value.
func TestLine(t *testing.T) {
	for _, c := range []struct {
		value string
		text  bool
		want  string
	}{{"y", false, "CONFIG_A=y"}, {"n", false, "# CONFIG_A is not set"}, {"-0x1f", false, `CONFIG_A="-0x1f"`},
		{"0x1f", false, "CONFIG_A=0x1f"}, {"250", false, "CONFIG_A=250"},
		{"250", true, `CONFIG_A="250"`}, {"n", true, `CONFIG_A="n"`}, {"", false, `CONFIG_A=""`},
		{`say "\"`, true, `CONFIG_A="say \"\\\""`}} {
		got := Line("A", c.value, c.text)
		if back, err := Parse(strings.NewReader(got)); got != c.want || err != nil || back["A"] != c.value {
			t.Errorf("%+v: %s, read back as %v, %v", c, got, back, err)
		}
	}
}

func TestPair(t *testing.T) {
	a := Config{"CPU_SRSO": "y", "RETPOLINE": "n", "SLS": "y", "GCC_PLUGIN_STACKLEAK": "y"}
	b := Config{"MITIGATION_SRSO": "y", "MITIGATION_RETPOLINE": "y", "GCC_PLUGIN_STACKLEAK": "n", "KSTACK_ERASE": "y"}
	pairedA, pairedB, before := Pair(a, b)
	changes := Compare(pairedA, pairedB)
	var names []string
	for _, c := range changes {
		names = append(names, c.Option)
	}
	// SRSO is the same on both sides; SLS has no counterpart; both have the plugin, so it is not renamed.
	if got, want := strings.Join(names, " "), "GCC_PLUGIN_STACKLEAK KSTACK_ERASE MITIGATION_RETPOLINE SLS"; got !=
		want {
		t.Errorf("differ: %s, want %s", got, want)
	}
	if before["MITIGATION_RETPOLINE"] != "RETPOLINE" || before["MITIGATION_SRSO"] != "CPU_SRSO" || len(before) != 2 {
		t.Errorf("renamed: %v", before)
	}
	if _, changed := a["MITIGATION_SRSO"]; changed {
		t.Error("the argument was changed")
	}
}

// Real kernels on both sides of 6.9: every mitigation that was renamed and is in both is paired.
func TestPairPublished(t *testing.T) {
	_, old := published(t, "debian-6.1.0-50")
	_, recent := published(t, "debian-6.12.111")
	_, _, before := Pair(old, recent)
	for _, name := range []string{"SRSO", "PAGE_TABLE_ISOLATION", "RETPOLINE", "RETHUNK", "UNRET_ENTRY", "IBPB_ENTRY",
		"IBRS_ENTRY", "SLS"} {
		if before["MITIGATION_"+name] == "" {
			t.Errorf("MITIGATION_%s has no old name", name)
		}
	}
	t.Logf("%d renamed options paired", len(before))
}

func TestRenames(t *testing.T) {
	old := map[string]bool{}
	for _, r := range Renames() {
		if !isName(r.Old) || !isName(r.New) || r.Old == r.New || r.Since == "" || old[r.Old] {
			t.Errorf("%+v", r)
		}
		old[r.Old] = true
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"mixed-a.config", "mixed-b.config"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("CONFIG_A=\"\\"))
	f.Add([]byte("# CONFIG_ is not set\nCONFIG_A=\"\\\\\\\"\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(bytes.NewReader(text))
		if err != nil {
			return
		}
		for name := range c {
			if !isName(name) {
				t.Errorf("an option named %q", name)
			}
		}
		if changes := Compare(c, c); len(changes) > 0 {
			t.Errorf("it differs from itself: %v", changes)
		}
		// The output of -m compared with an empty configuration is again a configuration with the same values.
		var merged bytes.Buffer
		if err := Diffconfig(&merged, Config{}, c, true); err != nil {
			t.Fatal(err)
		}
		again, err := Parse(&merged)
		if err != nil {
			t.Fatal(err)
		}
		if changes := Compare(c, again); len(changes) > 0 {
			t.Errorf("read again it differs: %+v", changes)
		}
		Header(text)
	})
}

func TestWhole(t *testing.T) {
	for _, name := range []string{"debian-6.1.0-50", "debian-6.1.0-56-arm64", "debian-6.12.111",
		"talos-6.6.57-iommu-strict"} {
		text, c := published(t, name)
		if !c.Whole() {
			t.Errorf("%s is no whole configuration", name)
		}
		half, err := Parse(bytes.NewReader(text[:len(text)/2]))
		if err != nil || half.Whole() {
			t.Errorf("half of %s is a whole one: %v", name, err)
		}
		half, err = Parse(bytes.NewReader(text[len(text)/2:]))
		if err != nil || half.Whole() {
			t.Errorf("the other half of %s is a whole one: %v", name, err)
		}
	}
	if (Config{"LOCALVERSION": "", "MEMTEST": "n"}).Whole() {
		t.Error("two options are a whole configuration")
	}
}
