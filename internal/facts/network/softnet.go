package network

import (
	"bytes"
	"strconv"

	"github.com/headroom/headroom/internal/facts/collect"
)

const softnetPath = "/proc/net/softnet_stat"

// softnet sums what the CPUs did with received packets since boot.
func softnet(r collect.Reader, t *collect.Thing) {
	data, err := r.Bytes(softnetPath)
	sum, ok := parseSoftnet(data)
	for i, key := range []string{"net.softnet.processed", "net.softnet.dropped", "net.softnet.squeezed"} {
		switch {
		case err != nil:
			t.Add(collect.Unknown(key, softnetPath, collect.Why(err)))
		case !ok:
			t.Add(collect.Unknown(key, softnetPath, "the file does not have the columns that are known"))
		default:
			t.Add(collect.Whole(key, sum[i], softnetPath))
		}
	}
}

// parseSoftnet adds up the first three columns, in hexadecimal: packets processed, packets dropped because the backlog
// was full, and times that a CPU stopped with packets left over because its budget or time was used up. There is one
// line for each CPU online. Source: the kernel's net/core/net-procfs.c.
//
//	000042b1 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001
//	0001c3f2 00000003 00000018 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000002
func parseSoftnet(data []byte) (sum [3]int64, ok bool) {
	for line := range bytes.Lines(data) {
		column := 0
		var row [3]int64
		for field := range bytes.FieldsSeq(line) {
			if column == len(row) {
				break
			}
			n, err := strconv.ParseUint(string(field), 16, 32)
			if err != nil {
				break
			}
			row[column] = int64(n)
			column++
		}
		if column < len(row) {
			continue
		}
		ok = true
		for i, n := range row {
			sum[i] += n
		}
	}
	return sum, ok
}
