package perftest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"headroom/internal/golden"

	"headroom/internal/load/pasted"
)

func summary(all []pasted.Result, left []pasted.Left) (lines []string) {
	for _, r := range all {
		line := fmt.Sprintf("%d %s", r.Line, r.Job)
		for _, name := range slices.Sorted(maps.Keys(r.Params)) {
			line += " " + name + "=" + r.Params[name]
		}
		for _, metric := range slices.Sorted(maps.Keys(r.Values)) {
			line += fmt.Sprintf(" %s=%.6g", metric, r.Values[metric])
		}
		lines = append(lines, line)
	}
	for _, l := range left {
		lines = append(lines, fmt.Sprintf("%d left: %s", l.Line, l.Reason))
	}
	return lines
}

func TestText(t *testing.T) {
	const mbs = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
	const dashes = "---------------------------------------------------------------------------------------\n"
	const head = dashes + "                    RDMA_Write BW Test\n Number of qps   : 2\t\tTransport type : IB\n" +
		" Connection type : RC\t\tUsing SRQ      : OFF\n TX depth        : 128\n Mtu             : 1024[B]\n" + dashes
	const params = " connection=RC mtu=1024 qp=2"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"megabytes of 2^20": {head + mbs + " 65536      5000             6215.38            6213.10\t\t   0.099410\n" + dashes,
			// 6213.10 * 2^20 * 8 bit/s
			[]string{"9 ib_write_bw-64k" + params + " size=65536 test=ib_write_bw tx-depth=128 send.bitrate=5.21193e+10" +
				" send.rate=99410"}},
		"gigabits": {head + strings.ReplaceAll(mbs, "MB/", "Gb/") +
			" 65536      5000             92.57              92.55              0.176529\n",
			[]string{"9 ib_write_bw-64k" + params + " size=65536 test=ib_write_bw tx-depth=128 send.bitrate=9.255e+10" +
				" send.rate=176529"}},
		"all sizes": {"$ ib_read_bw -a host\n" + strings.Replace(mbs, "MB/", "MiB/", 2) +
			" 2          1000             10.00              10.00              5.242880\n" +
			" 4          1000             20.00              20.00              5.242880\n" + dashes,
			[]string{"3 ib_read_bw-2 size=2 test=ib_read_bw receive.bitrate=8.38861e+07 receive.rate=5.24288e+06",
				"4 ib_read_bw-4 size=4 test=ib_read_bw receive.bitrate=1.67772e+08 receive.rate=5.24288e+06"}},
		"without the rate of operations": {"                    Send BW Test\n #bytes     #iterations    BW peak[MB/sec]    " +
			"BW average[MB/sec]\n 1024       1000             500.00              100.00\n",
			[]string{"3 ib_send_bw-1k size=1024 test=ib_send_bw send.bitrate=8.38861e+08 send.rate=102400"}},
		"latency": {"                    Send Latency Test\n #bytes #iterations    t_min[usec]    t_max[usec]  " +
			"t_typical[usec]    t_avg[usec]\n 2       1000          0.80           9.00         1.00     \t       1.10 \n",
			[]string{"3 ib_send_lat-2 size=2 test=ib_send_lat request.latency.max=1.8e-05 request.latency.mean=2.2e-06 " +
				"request.latency.min=1.6e-06 request.latency.p50=2e-06 request.rate=454545"}},
		"two runs": {head + mbs + " 65536 5000 1.00 1.00 0.000016\n" + head + mbs + " 65536 5000 1.00 2.00 0.000032\n",
			[]string{"9 ib_write_bw-64k" + params + " size=65536 test=ib_write_bw tx-depth=128 send.bitrate=8.38861e+06 " +
				"send.rate=16", "18 ib_write_bw-64k" + params + " size=65536 test=ib_write_bw tx-depth=128 " +
				"send.bitrate=1.67772e+07 send.rate=32"}},
		"both ways": {strings.Replace(head, "Write BW", "Write Bidirectional BW", 1) + mbs +
			" 65536 5000 1.00 1.00 0.000016\n",
			[]string{"9 left: a bidirectional test prints one rate for both ways together; run it without -b"}},
		"no test": {mbs + " 65536 5000 1.00 1.00 0.000016\n", []string{"2 left: no line names a test of RDMA writes, " +
			"reads or sends above the table; paste the whole output"}},
		"atomic": {"                    Atomic FETCH_AND_ADD BW Test\n" + mbs + " 8 5000 1.00 1.00 0.000016\n",
			[]string{"3 left: no line names a test of RDMA writes, reads or sends above the table; paste the whole output"}},
		"a unit": {head + strings.ReplaceAll(mbs, "MB/", "GiB/") + " 65536 5000 1.00 1.00 0.000016\n",
			[]string{"9 left: the unit of the rates is not known: #bytes     #iterations    BW peak[GiB/sec]    BW " +
				"average[GiB/sec]   MsgRate[Mpps]"}},
		"nothing counted": {head + mbs + " 65536 0 0.00 0.00 0.000000\n", []string{"9 left: no operation was counted"}},
	} {
		if got := summary(ParseText(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got  %q\n want %q", name, got, c.want)
		}
	}
}

// TestTextAgrees compares what is read of whole outputs with what Parse reads of them.
func TestTextAgrees(t *testing.T) {
	for name, text := range golden.Fixtures(t, "testdata/4.5-*.txt", 5) {
		want, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all, left := ParseText(text)
		if n := len(all); want.Iterations > 0 && (n != 1 || !maps.Equal(all[0].Values, want.Values())) ||
			want.Iterations == 0 && (n != 0 || len(left) != 1) {
			t.Errorf("%s: %+v, %v; want %v", name, all, left, want.Values())
		}
	}
}

func FuzzParseText(f *testing.F) {
	for _, text := range golden.Fixtures(f, "testdata/4.5-*.txt", 1) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := ParseText(text)
		for _, r := range all {
			if r.Line < 1 || len(r.Values) == 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
