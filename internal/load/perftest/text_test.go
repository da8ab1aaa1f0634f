package perftest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"

	"github.com/headroom/headroom/internal/load/pasted"
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

// document is the file of --out_json in the format of perftest_parameters.c since January 2024; compact is one that jq
// wrote.
const (
	document = "{\n\"test_info\": {\n\"test\": \"RDMA_Write_BW_Test\",\n\"Dual_port\": \"OFF\",\n\"Device\": \"mlx5_0\",\n" +
		"\"Number_of_qps\": 1,\n\"Transport_type\": \"IB\",\n\"Connection_type\": \"RC\",\n\"Using_SRQ\": \"OFF\",\n" +
		" \"PCIe_relax_order\": \"Unsupported\",\n\"ibv_wr_API\": \"ON\",\n\"TX_depth\": 128,\n\"CQ_Moderation\": 1,\n" +
		"\"Mtu\": 4096,\n\"Link_type\": \"Ethernet\"\n},\n\"results\": {\n\"MsgSize\": 65536,\n\"n_iterations\": 5000,\n" +
		"\"BW_peak\": 92.57,\n\"BW_average\": 92.55,\n\"MsgRate\": 0.176529\n}\n}\n"
	compact = `{"test_info":{"test":"RDMA_Read_Latency_Test","Number_of_qps":1,"Connection_type":"RC","TX_depth":1,` +
		`"Mtu":4096},"results":{"MsgSize":2,"n_iterations":500,"t_min":0.80,"t_max":9.00,"t_typical":1.00,"t_avg":1.10,` +
		`"t_stdev":0.10,"percentile_99":1.40,"percentile_99.9":9.00}}` + "\n"
)

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
		"JSON as since 2024": {document, []string{"17 ib_write_bw-64k connection=RC mtu=4096 qp=1 size=65536 test=ib_write_bw " +
			"tx-depth=128 send.bitrate=9.255e+10 send.rate=176529"}},
		"JSON of several calls, as jq -c prints it": {compact + compact, []string{
			"1 ib_read_lat-2 connection=RC mtu=4096 qp=1 size=2 test=ib_read_lat tx-depth=1 request.latency.max=9e-06 " +
				"request.latency.mean=1.1e-06 request.latency.min=8e-07 request.latency.p50=1e-06 request.latency.p99=1.4e-06 " +
				"request.rate=909091",
			"2 ib_read_lat-2 connection=RC mtu=4096 qp=1 size=2 test=ib_read_lat tx-depth=1 request.latency.max=9e-06 " +
				"request.latency.mean=1.1e-06 request.latency.min=8e-07 request.latency.p50=1e-06 request.latency.p99=1.4e-06 " +
				"request.rate=909091"}},
		"JSON of two tests in a line": {"[" + strings.TrimSpace(compact) + "," +
			strings.NewReplacer("Read", "Write_Bidirectional", "\n", "").Replace(compact) + "]\n", []string{
			"1 ib_read_lat-2 connection=RC mtu=4096 qp=1 size=2 test=ib_read_lat tx-depth=1 request.latency.max=9e-06 " +
				"request.latency.mean=1.1e-06 request.latency.min=8e-07 request.latency.p50=1e-06 request.latency.p99=1.4e-06 " +
				"request.rate=909091",
			"1 left: a bidirectional test prints one rate for both ways together; run it without -b"}},
		"another test below a command": {"$ ib_write_bw host\n" + head + mbs + " 65536 5000 1.00 1.00 0.000016\n" +
			strings.Replace(head, "Write", "Read", 1) + mbs + " 65536 5000 1.00 2.00 0.000032\n",
			[]string{"10 ib_write_bw-64k" + params + " size=65536 test=ib_write_bw tx-depth=128 send.bitrate=8.38861e+06 " +
				"send.rate=16", "19 ib_read_bw-64k" + params + " size=65536 test=ib_read_bw tx-depth=128 " +
				"receive.bitrate=1.67772e+07 receive.rate=32"}},
		"JSON with a peak that was divided by 0": {strings.Replace(document, "92.57", "inf", 1), []string{
			"17 ib_write_bw-64k connection=RC mtu=4096 qp=1 size=65536 test=ib_write_bw tx-depth=128 send.bitrate=9.255e+10 " +
				"send.rate=176529"}},
		"JSON without an average": {strings.Replace(document, "92.55", "-nan", 1),
			[]string{"17 left: the line has no figures of ib_write_bw, or they are 0"}},
		"JSON whose unit is not known": {strings.Replace(document, "92.55", "700.10", 1),
			[]string{"17 left: MsgRate does not tell the unit of BW_average"}},
		"JSON both ways": {strings.Replace(document, "Write_BW", "Write_Bidirectional_BW", 1),
			[]string{"17 left: a bidirectional test prints one rate for both ways together; run it without -b"}},
		"JSON cut off": {document[:strings.Index(document, "MsgRate")], []string{"17 left: the JSON is cut off"}},
		"JSON of one figure": {document[:strings.Index(document, `"MsgSize`)] + "\"bw_avg\": 92.55\n}\n}\n",
			[]string{"17 left: the JSON has one figure alone, as with --output; run it without"}},
		"JSON of a service level": {strings.Replace(document, `"n_it`, "sl: 0,\n\"n_it", 1),
			[]string{"17 left: the JSON has one service level of several"}},
		"JSON of an atomic": {strings.Replace(document, "RDMA_Write_BW", "Atomic_FETCH_AND_ADD_BW", 1),
			[]string{"17 left: no line names a test of RDMA writes, reads or sends above the figures; paste the whole output"}},
		"cycles": {"$ ib_send_lat -FC host\n                    Send Latency Test\n #bytes #iterations    t_min[usec]    t_max[usec]  " +
			"t_typical[usec]    t_avg[usec]\n 2       1000          0.80           9.00         1.00     \t       1.10 \n",
			[]string{"4 left: with -C the times are cycles of the processor, whatever the titles say; run it without"}},
		"no test": {mbs + " 65536 5000 1.00 1.00 0.000016\n", []string{"2 left: no line names a test of RDMA writes, " +
			"reads or sends above the figures; paste the whole output"}},
		"atomic": {"                    Atomic FETCH_AND_ADD BW Test\n" + mbs + " 8 5000 1.00 1.00 0.000016\n",
			[]string{"3 left: no line names a test of RDMA writes, reads or sends above the figures; paste the whole output"}},
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

// TestTextAgrees compares the results of ParseText for whole outputs with those of Parse.
func TestTextAgrees(t *testing.T) {
	texts := golden.Fixtures(t, "testdata/4.5-*.txt", 5)
	maps.Copy(texts, golden.Fixtures(t, "testdata/4.5-*.json", 5))
	for name, text := range texts {
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
	for _, text := range golden.Fixtures(f, "testdata/4.5-*.json", 1) {
		f.Add(text)
	}
	f.Add(document)
	f.Add(compact)
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := ParseText(text)
		for _, r := range all {
			if r.Line < 1 || len(r.Values) == 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
