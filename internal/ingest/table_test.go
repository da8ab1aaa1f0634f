package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// An unexpected value in a table is refused with its line and column.
func TestTablesThatAreRefused(t *testing.T) {
	for want, text := range map[string]string{
		`found "threads"`:                             "rw,bs,threads,IOPS\nread,4k,1,100\n",
		`found "table", "efficiency %"`:               "table,label,IOPS,efficiency %\none path,randread,100,\n",
		`line 3: expected a pattern of fio`:           "rw,bs,IOPS\nread,4k,100\ntotal,4k,200\n",
		`line 2: whether the figures of the column`:   "rw,bs,IOPS\nrandrw,4k,100\n",
		`line 2: column "IOPS": expected a number`:    "rw,bs,IOPS\nread,4k,fast\n",
		`line 2: column "MB/s": expected a number`:    "rw,bs,MB/s\nread,4k,100k\n",
		`expected lines with figures`:                 "rw,bs,IOPS\nread,4k,\n",
		`wrong number of fields`:                      "rw,bs,IOPS\nread,4k\n",
		`line 2: column "IOPS": expected a number, f`: "rw;bs;IOPS\nread;4k;1,2,5\n",
	} {
		_, _, err := importMap(t, map[string][]byte{"t.csv": []byte(text)}, "t.csv")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A table without a load or without figures has no known format: below a directory it is left out.
func TestTablesOfOtherThings(t *testing.T) {
	for _, text := range []string{"time,value\n1,2\n", "rw,bs\nread,4k\n", "0, 100, 0, 4096\n", "IOPS\n100\n"} {
		_, _, err := importMap(t, map[string][]byte{"d/t.csv": []byte(text)}, "d/t.csv")
		if err == nil || strings.Contains(err.Error(), "expected columns") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestFormsOfTables reads tables as people write them.
func TestFormsOfTables(t *testing.T) {
	const head = "| Job | rw | bs | QD | IOPS | Read BW (MiB/s) | p99 latency (us) |\n|---|:--:|--|--:|--:|--:|--:|\n"
	for _, c := range []struct{ name, text, want string }{
		{"Markdown", "# Results\n\nOn a new disk:\n\n" + head + "| a | randread | 4k | 32 | 61.5k | 240.2 | 1,234 |\n\nThe end.\n",
			"amap[bs:4k iodepth:32 rw:randread]; read.bandwidth=2.51868e+08 read.iops=61500 read.latency.p99=0.001234"},
		{"thousands", head + "| a | randread | 4k | 32 | 28,832 | 1,034.5 | 1,234,567 |\n",
			"amap[bs:4k iodepth:32 rw:randread]; read.bandwidth=1.08475e+09 read.iops=28832 read.latency.p99=1.23457"},
		{"decimal commas and blanks", head + "| a | randread | 4k | 32 | 28 832 | 1.034,5 | 12,5 |\n",
			"amap[bs:4k iodepth:32 rw:randread]; read.bandwidth=1.08475e+09 read.iops=28832 read.latency.p99=1.25e-05"},
		{"a table of psql", "+------+------+\n| rw   | IOPS |\n+------+------+\n| read | 5    |\n+------+------+\n",
			"readmap[rw:read]; read.iops=5"},
		{"no pipes outside", "rw | bs | kIOPS\n--- | --- | ---\nrandread | 4KiB | 28.8\n",
			"randreadmap[bs:4k rw:randread]; read.iops=28800"},
		{"units in the cells", "rw,bs,bandwidth,p99\nSequential write,1M,1.5 GB/s,2.5 ms\n",
			"writemap[bs:1M rw:write]; write.bandwidth=1.5e+09 write.latency.p99=0.0025"},
		{"quoted thousands in CSV", "rw,bs,IOPS,MB/s\nread,4k,\"28,832\",118.1\n",
			"readmap[bs:4k rw:read]; read.bandwidth=1.181e+08 read.iops=28832"},
		{"bits, and a unit at its word", "rw;Mbit/s;write MiB/sec\nread;800;100\n",
			"readmap[rw:read]; read.bandwidth=1e+08 write.bandwidth=1.04858e+08"},
	} {
		if got := tableOf(t, c.text); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
		quoted := strings.ReplaceAll("> "+strings.TrimSpace(c.text), "\n", "\n> ") + "\n>\n>\n"
		if got := tableOf(t, quoted); got != c.want {
			t.Errorf("%s, quoted: %s", c.name, got)
		}
	}
	for want, text := range map[string]string{
		`line 3: "28,832" may be 28832 or 28.832`:                "| rw | IOPS |\n|--|--|\n| read | 28,832 |\n",
		`line 2: "28,832" may be 28832 or 28.832`:                "rw;bs;IOPS\nread;4k;28,832\n",
		`line 3: in "2,5" a comma is something else`:             "rw;IOPS\nread;2.5\nread;2,5\n",
		`column "KB/s": whether KB/s are 1000 or 1024`:           "rw,KB/s\nread,100\n",
		`column "BW": whether KB/s are 1000`:                     "rw,BW\nread,100KB/s\n",
		`column "Bandwidth (Mb/s)": whether Mb/s are bits or`:    "rw,Bandwidth (Mb/s)\nread,100\n",
		`column "BW": expected a number with its unit`:           "rw,BW\nread,100\n",
		`column "MB/s": expected a number, found "3 ms"`:         "rw,MB/s\nread,3 ms\n",
		`line 3: expected 2 fields, found 3`:                     "| rw | IOPS |\n|--|--|\n| read | 5 | 6 |\n",
		`found "latency (us)"`:                                   "rw,IOPS,latency (us)\nread,5,6\n",
		`line 4: column "IOPS": expected a number, found "many"`: "text\n| rw | IOPS |\n|--|--|\n| read | many |\n",
	} {
		if got := valuesOf(t, "t.md", text); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestSecondTable checks that the warning names a second table.
func TestSecondTable(t *testing.T) {
	const one = "| rw | IOPS |\n|--|--|\n| read | 5 |\n"
	run, sink, err := importMap(t, map[string][]byte{"t.md": []byte(one + "\nand\n\n" + one)}, "t.md")
	if err != nil || len(sink.repetitions) != 1 || !strings.Contains(run.Warnings[0].Text, "begins at line 7") {
		t.Errorf("%v, %v, %v", sink.repetitions, run.Warnings, err)
	}
}

// tableOf returns what an import reads of a table, with six digits.
func tableOf(t *testing.T, text string) string {
	t.Helper()
	run, sink, err := importMap(t, map[string][]byte{"t.md": []byte(text)}, "t.md")
	if err != nil {
		return err.Error()
	}
	out := fmt.Sprint(run.Cells[0].Job, run.Cells[0].Params, ";")
	for _, r := range sink.repetitions {
		for _, metric := range slices.Sorted(maps.Keys(r.Values)) {
			out += fmt.Sprintf(" %s=%.6g", metric, r.Values[metric])
		}
	}
	return out
}
