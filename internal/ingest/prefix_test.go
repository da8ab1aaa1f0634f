package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

// carriers put something before each line of a text, or around it, as programs and people do. The text ends with a
// newline.
func carriers() map[string]func(text string) string {
	each := func(prefix func(n int) string, suffix string) func(string) string {
		return func(text string) string {
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			for i, line := range lines {
				lines[i] = prefix(i) + line + suffix
			}
			return strings.Join(lines, "\n") + "\n"
		}
	}
	always := func(prefix string) func(string) string { return each(func(int) string { return prefix }, "") }
	return map[string]func(string) string{
		"quotation":       always("> "),
		"two quotations":  always("> > "),
		"without a blank": always(">"),
		"indentation":     always("    "),
		"tab":             always("\t"),
		"kubectl --timestamps": each(func(n int) string {
			return fmt.Sprintf("2026-11-29T10:00:%02d.123456789Z ", n%60)
		}, ""),
		"a logger's time":    each(func(n int) string { return fmt.Sprintf("[2026-11-29 10:00:%02d,123] ", n%60) }, ""),
		"ts -s":              each(func(n int) string { return fmt.Sprintf("00:00:%02d ", n%60) }, ""),
		"kubectl --prefix":   always("[pod/fio-0/fio] "),
		"docker compose":     always("fio-1  | "),
		"pdsh":               always("node1: "),
		"a prompt":           always("$ "),
		"Python's logging":   always("DEBUG:root:"),
		"journal":            always("Nov 29 10:00:00 node1 fio[4711]: "),
		"cat -n":             each(func(n int) string { return fmt.Sprintf("%6d\t", n+1) }, ""),
		"grep -n":            each(func(n int) string { return fmt.Sprintf("%d:", n+1) }, ""),
		"box":                each(func(int) string { return "│ " }, "   │"),
		"lines of DOS":       each(func(int) string { return "> " }, "\r"),
		"Docker's json-file": jsonFile,
		"a string in JSON":   inConfigMap,
		"Python":             inPython,
		"a container's log": each(func(n int) string {
			return fmt.Sprintf("2026-11-29T10:00:%02d.123456789Z stdout F ", n%60)
		}, ""),
		"ts":               each(func(n int) string { return fmt.Sprintf("Nov 29 10:00:%02d ", n%60) }, ""),
		"date":             always("Sun Nov 29 10:00:00 UTC 2026 "),
		"seconds":          each(func(n int) string { return fmt.Sprintf("%d.%03d ", 1795818190+n, n%1000) }, ""),
		"a serial console": each(func(n int) string { return fmt.Sprintf("[%12.6f] ", 9.5+0.31*float64(n)) }, ""),
		"journalctl -o short-iso": each(func(n int) string {
			return fmt.Sprintf("2026-11-29T10:00:%02d+0000 node1 fio[4711]: ", n%60)
		}, ""),
		"syslog":           always("<14>Nov 29 10:00:00 node1 fio[4711]: "),
		"klog":             always("I1129 10:00:00.123456       1 main.go:12] "),
		"Go's log":         always("2026/11/29 10:00:00 "),
		"logrus":           each(func(int) string { return `time="2026-11-29T10:00:00Z" level=info msg="` }, `"`),
		"Python's times":   always("2026-11-29 10:00:00,123 - INFO - "),
		"stern":            always("fio-7d4b fio "),
		"kubetail":         always("default/fio-7d4b fio "),
		"mpirun":           always("[1,0]<stdout>:"),
		"Ansible":          always("ok: [db1] => "),
		"a user at a host": always("fio@db1: "),
		"grep":             always("/var/log/fio.log:"),
		"grep -Hn":         each(func(n int) string { return fmt.Sprintf("logs/fio.log:%d:", n+1) }, ""),
		"a list":           each(func(n int) string { return fmt.Sprintf("%d. ", n+1) }, ""),
		"numbers":          each(func(n int) string { return fmt.Sprintf("%4d  ", n+1) }, ""),
		"bat":              each(func(n int) string { return fmt.Sprintf("%4d │ ", n+1) }, ""),
		"a diff":           always("+"),
		"comments":         always("# "),
		"comments in C":    always("// "),
		"quoted kubectl --timestamps": func(text string) string {
			stamped := each(func(int) string { return "2026-11-29T10:00:00Z " }, "")
			return always("> ")(stamped(text))
		},
	}
}

func jsonFile(text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		quoted, _ := json.Marshal(line)
		fmt.Fprintf(&all, `{"log":%s,"stream":"stdout","time":"2026-11-29T10:00:00.1Z"}`+"\n", quoted)
	}
	return all.String()
}

// inPython writes JSON as Python prints the values, in a line of a log.
func inPython(text string) string {
	text = strings.NewReplacer(`"`, "'", "true", "True", "null", "None", "\n", " ").Replace(text)
	return "11:00:01 - INFO - Output:\n11:00:01 - INFO - " + text + "\n11:00:02 - INFO - done\n"
}

func inConfigMap(text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"kind": "ConfigMap", "data": {"result.json": %s}}`, quoted)
}

// TestCarriers checks that results are the same with something before each of their lines, or around them.
func TestCarriers(t *testing.T) {
	for _, file := range []string{"text/fio-3.42-write-normal.txt", "fio/fio-3.42-fdatasync.json",
		"kubestr-text/fio.txt",
		"kbench/two.txt", "yabs/2023.txt", "sysbench/1.0.20.txt", "sysbench/0.4.12.txt", "elbencho/table.txt",
		"elbencho-csv/results.csv", "pgbench/9.6-two.txt", "ioping/1.3.txt", "hdparm/tT.txt", "dd/gnu.txt",
		"dd/locales.txt", "dbench/summaries.txt", "crystaldiskmark/9.0.1.txt", "kdiskmark/3.2.0.txt",
		"iperf3/iperf3-3.21-json-stream.txt"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		plain := string(bytes.TrimRight(bytes.ReplaceAll(text, []byte("\r"), nil), "\n")) + "\n"
		want := valuesOf(t, file, plain)
		for name, carry := range carriers() {
			if (name == "a string in JSON" || name == "Python") && !strings.HasSuffix(file, ".json") {
				continue
			}
			if got := valuesOf(t, file, carry(plain)); got != want {
				t.Errorf("%s, %s: %s, want %s", file, name, got, want)
			}
		}
	}
}

// valuesOf returns the values that an import reads from a file with this text.
func valuesOf(t *testing.T, name, text string) string {
	t.Helper()
	sink := &collected{}
	run, err := Import(t.Context(), []Source{{Name: name}}, nil,
		fstest.MapFS{name: {Data: []byte(text), Mode: 0o644}}.Open, sink)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, c := range run.Cells {
		all = append(all, fmt.Sprint(c.Job, c.Params))
	}
	for _, r := range sink.repetitions {
		all = append(all, fmt.Sprint(r.Values))
	}
	return strings.Join(all, "; ")
}

// TestLinesOfSeveralMachines checks that results whose lines begin with the names of several machines are assigned to
// those machines, whether mixed or not, that machines without results are named, and that a copy of the file is left
// out.
func TestLinesOfSeveralMachines(t *testing.T) {
	text, err := os.ReadFile("testdata/text/fio-3.42-write-normal.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := valuesOf(t, "a.txt", string(text))
	for _, names := range [][]string{{"node1: ", "node2: "}, {"10.0.0.5: ", "10.0.0.6: "}, {"fio-1  | ", "fio-2  | "},
		{"[pod/fio-0/fio] ", "[pod/fio-1/fio] "}} {
		var after, between strings.Builder
		for _, name := range names {
			for line := range strings.Lines(string(text)) {
				after.WriteString(name + line)
			}
		}
		for line := range strings.Lines(string(text)) {
			between.WriteString(names[0] + line + names[1] + line)
		}
		between.WriteString("sidecar: a\nsidecar: b\nsidecar: c\n")
		for i, all := range []string{after.String(), between.String()} {
			files := map[string][]byte{"a.txt": []byte(all), "again.txt": []byte(all)}
			run, sink, err := importMap(t, files, "a.txt", "again.txt")
			if err != nil {
				t.Fatalf("%q: %v", names, err)
			}
			if len(sink.repetitions) != len(names) || warning(run, "import-duplicate") == "" {
				t.Errorf("%q: %d repetitions, %v", names, len(sink.repetitions), run.Warnings)
			}
			for k, target := range run.Targets {
				if want := strings.Trim(names[k], "[]:| "); target.Target != want || len(run.Targets) != 2 {
					t.Errorf("%q: target %s of %d, want %s", names, target.Target, len(run.Targets), want)
				}
			}
			for _, r := range sink.repetitions {
				if got := fmt.Sprint(r.Values); !strings.Contains(want, got) {
					t.Errorf("%q: %s, want %s", names, got, want)
				}
			}
			if strings.Contains(warning(run, "import-left-out"), "sidecar") != (i == 1) {
				t.Errorf("%q: %v", names, run.Warnings)
			}
		}
	}
}

// TestTablesKeepTheirColumns checks that a column of a table is not taken for a prefix.
func TestTablesKeepTheirColumns(t *testing.T) {
	for _, table := range []string{"rw,bs,IOPS\nrandread,4k,100\nrandread,4k,110\nrandread,4k,120\n",
		"time,rw,IOPS\n10:00:01,randread,100\n10:00:02,randread,110\n10:00:03,randread,120\n"} {
		if got := valuesOf(t, "t.csv", table); !strings.Contains(got, "read.iops:100") {
			t.Errorf("%s of %q", got, table)
		}
	}
}

func FuzzWithoutCarriers(f *testing.F) {
	for _, carry := range carriers() {
		f.Add([]byte(carry("a: (groupid=0, jobs=1): err= 0\n  read: IOPS=5\n\nb\nc\n")))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := withoutCarriers(text)
		lines := func(text []byte) int { return bytes.Count(text, []byte("\n")) }
		if !bytes.Contains(text, []byte("{")) && lines(got) != lines(text) {
			t.Errorf("%q became %q, which has other lines", text, got)
		}
		// Count characters, since an invalid byte in a JSON string becomes the three bytes of U+FFFD.
		if utf8.RuneCount(got) > utf8.RuneCount(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// TestCutReports checks a file that ends within a report, because fio was killed. The last complete report counts, with
// a warning.
func TestCutReports(t *testing.T) {
	file := "fio/fio-3.33-status-interval-multi-doc.txt"
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	cut := text[:bytes.LastIndex(text, []byte(`"jobname"`))]
	sink := &collected{}
	run, err := Import(t.Context(), []Source{{Name: "cut.json"}}, nil,
		fstest.MapFS{"cut.json": {Data: cut, Mode: 0o644}}.Open, sink)
	if err != nil || len(sink.repetitions) != 1 || len(run.Warnings) != 1 ||
		run.Warnings[0].Code != "import-left-out" || !strings.Contains(run.Warnings[0].Text, "cut off at byte") {
		t.Errorf("%d repetitions, %v, %v", len(sink.repetitions), run.Warnings, err)
	}
}

func TestPythonLiterals(t *testing.T) {
	for text, want := range map[string]string{
		`{'fio version': 'a', 'b': [True, None, 1.5e-05], "c": ("it's", u'x')} tail`: `{"fio version": "a", "b": [true, null, 1.5e-05], "c": ["it's", "x"]}`,
		`{'fio version': 'a\'b\\n', 'nan': nan}`:                                     `{"fio version": "a'b\\n", "nan": null}`,
		`x {'y': 1} {'fio version': 'z'} {'fio version': 'w'}`:                       `{"fio version": "z"}` + "\n" + `{"fio version": "w"}`,
		`{'fio version': 'cut`:                                                       `{"fio version": "cut"`,
		`{"fio version": "json"}`:                                                    "",
	} {
		if got := strings.TrimSpace(string(fromPython([]byte(text)))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
