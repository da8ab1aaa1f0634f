package rule

import (
	"fmt"
	"strings"
	"testing"
)

// manyRules returns about a hundred rules of the usual kinds.
func manyRules() string {
	var b strings.Builder
	for i := range 40 {
		b.WriteString(ruleText(fmt.Sprintf("machine-%d", i), fmt.Sprintf(
			`cpu.governor in ["powersave", "schedutil"] && cpu.threads > %d || argument["mitigations"] == "off" || config["KASAN"] == "y"`, i)))
	}
	for i := range 40 {
		b.WriteString(ruleText(fmt.Sprintf("disk-%d", i), fmt.Sprintf(
			`disk.queue.scheduler in ["bfq", "kyber"] && disk.queue.nr_requests < %d && !disk.rotational`,
			i+40), "scope: disk",
			`applies: disk.driver == "nvme" && kernel(5, 10)`))
	}
	for i := range 20 {
		b.WriteString(ruleText(fmt.Sprintf("all-%d", i), fmt.Sprintf(
			`values("disk.queue.scheduler").exists(s, s.matches("^(bfq|kyber)$")) && count("disk") > %d`, i)))
	}
	return b.String()
}

func manyDisks(n int) []string {
	lines := []string{"cpu.governor = powersave", "cpu.threads = 64", "kernel.cmdline = quiet",
		"kernel.config = /proc/config.gz",
		"kernel.major = 6", "kernel.minor = 12"}
	for i := range n {
		for _, f := range []string{"disk.driver %s = nvme", "disk.queue.scheduler %s = bfq",
			"disk.queue.nr_requests %s = 64",
			"disk.rotational %s = 0", "disk.queue.wbt_lat_usec %s ? no such file here"} {
			lines = append(lines, fmt.Sprintf(f, fmt.Sprintf("nvme%dn1", i)))
		}
	}
	return lines
}

func BenchmarkDecode100Rules(b *testing.B) {
	text := []byte(manyRules())
	for b.Loop() {
		if _, err := Decode("bench.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvaluate100Disks(b *testing.B) {
	s, facts := set(b, manyRules()), snapshot(b, manyDisks(100)...)
	for b.Loop() {
		if n := s.Evaluate(facts, Options{}).Counts; n.Finding == 0 {
			b.Fatal("nothing was found")
		}
	}
}

func BenchmarkEvaluate4000Disks(b *testing.B) {
	s, facts := set(b, manyRules()), snapshot(b, manyDisks(4000)...)
	for b.Loop() {
		s.Evaluate(facts, Options{})
	}
}

func TestThousandsOfDisks(t *testing.T) {
	s, facts := set(t, manyRules()), snapshot(t, manyDisks(4000)...)
	r := s.Evaluate(facts, Options{})
	if len(r.Findings) == 0 || r.Counts.Finding < 4000 {
		t.Errorf("%+v", r.Counts)
	}
}
