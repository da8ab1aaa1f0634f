package ingest

import (
	"strings"
	"testing"
)

// What a table says in another way than expected is refused with its line and column.
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

// A table without a load or without figures is none that is known: below a directory it is left out.
func TestTablesOfOtherThings(t *testing.T) {
	for _, text := range []string{"time,value\n1,2\n", "rw,bs\nread,4k\n", "0, 100, 0, 4096\n", "IOPS\n100\n"} {
		_, _, err := importMap(t, map[string][]byte{"d/t.csv": []byte(text)}, "d/t.csv")
		if err == nil || strings.Contains(err.Error(), "expected columns") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
