package pasted

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

const toServer = " TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to server (192.0.2.2) port 0 AF_INET : demo"

// stream is the table of TCP_STREAM, rr is the table of TCP_RR, udp is the table of UDP_STREAM.
const (
	stream = "MIGRATED TCP STREAM" + toServer + "\nRecv   Send    Send                          \n" +
		"Socket Socket  Message  Elapsed              \nSize   Size    Size     Time     Throughput  \n" +
		"bytes  bytes   bytes    secs.    10^6bits/sec  \n\n131072  16384  16384    10.00    9386.41   \n"
	rr = "MIGRATED TCP REQUEST/RESPONSE" + toServer + " : first burst 0\nLocal /Remote\n" +
		"Socket Size   Request  Resp.   Elapsed  Trans.\nSend   Recv   Size     Size    Time     Rate         \n" +
		"bytes  Bytes  bytes    bytes   secs.    per sec   \n\n" +
		"16384  131072 1        1       10.00    24912.33   \n16384  131072 \n"
	// columns is the output of -O, of a test over the loopback.
	columns = "MIGRATED TCP STREAM" + toServer + "\nLocal       Remote      Local  Elapsed Throughput Throughput  \n" +
		"Send Socket Recv Socket Send   Time               Units       \n" +
		"Size        Size        Size   (sec)                          \n" +
		"Final       Final                                             \n" +
		"4194304     1026899     16384  10.00   4091.42    10^6bits/s  \n"
	udp = "MIGRATED UDP STREAM" + toServer + "\nSocket  Message  Elapsed      Messages                \n" +
		"Size    Size     Time         Okay Errors   Throughput\nbytes   bytes    secs            #      #   10^6bits/sec\n\n" +
		"212992   65507   10.00      346245      0    18145.28\n212992           10.00      311620           16330.73\n\n"
)

func FuzzParseNetperf(f *testing.F) {
	for _, text := range []string{stream, rr, udp, columns,
		"OMNI Send" + toServer + "\nTHROUGHPUT=1.5\nTHROUGHPUT_UNITS=10^6bits/s\n",
		"OMNI Send" + toServer + "\nThroughput,Throughput Units\n1.5,KBytes/s\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := ParseNetperf(text)
		for _, r := range all {
			if r.Line < 1 || r.Job == "" || len(r.Values) == 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestNetperf(t *testing.T) {
	const streamWant = "tcp-stream length=16384 protocol=tcp server=192.0.2.2 10 s send.bitrate=9.38641e+09"
	const rrWant = "tcp-rr protocol=tcp request=1 response=1 server=192.0.2.2 10 s request.rate=24912.3"
	for name, c := range map[string]struct{ text, want string }{
		"stream":   {stream, "1 " + streamWant},
		"requests": {rr, "1 " + rrWant},
		"datagrams": {udp, "1 udp-stream length=65507 protocol=udp server=192.0.2.2 10 s send.bitrate=1.63307e+10 " +
			"send.lost=0.100001"},
		"binary": {strings.ReplaceAll(stream, "10^6bits", "MBytes"), // 9386.41 MiB/s
			"1 " + strings.Replace(streamWant, "9.38641e+09", "7.87389e+10", 1)},
		"with CPUs": {"netperf -c -C -H a\nMIGRATED TCP STREAM" + toServer +
			"\nRecv Send Send Utilization Service Demand\n" +
			"bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB\n\n" +
			" 87380  16384  16384    10.00      9386.41   5.10     7.20     0.178   0.251  \n", "2 " + streamWant},
		"backwards": {strings.Replace(stream, "STREAM", "MAERTS", 1), "1 tcp-maerts length=16384 protocol=tcp " +
			"server=192.0.2.2 10 s receive.bitrate=9.38641e+09"},
		"before migration": {strings.Replace(stream, "MIGRATED ", "", 1), "1 " + streamWant},
		"burst": {strings.Replace(rr, "burst 0", "burst 16", 1),
			"1 tcp-rr burst=16 protocol=tcp request=1 response=1 " +
				"server=192.0.2.2 10 s request.rate=24912.3"},
		"interim": {strings.Replace(stream, "Recv ",
			"Interim result: 9000.00 KBytes/s over 1.000 seconds ending at 1.5\nRecv ", 1), "1 " + streamWant},
		"more of -v 2": {stream + "\nAlignment      Offset         Bytes    Bytes       Sends   Bytes    Recvs\n" +
			"    8       8      0       0 1.173e+10  16384.31    716128   29000.01 404563\n", "1 " + streamWant},
		"two": {"$ netperf -H a\n" +
			stream + "$ netperf -H a -t TCP_RR\n" + rr, "2 " + streamWant + "; 10 " + rrWant},
		"twice without a command": {stream + stream, "1 " + streamWant + "; 8 " + streamWant},
		"named values": {"MIGRATED TCP REQUEST/RESPONSE" + toServer +
			"\nTHROUGHPUT=24912.33\nTHROUGHPUT_UNITS=Trans/s\n" +
			"ELAPSED_TIME=10.00\nREQUEST_SIZE=1\nRESPONSE_SIZE=1\nMEAN_LATENCY=40.02\nP99_LATENCY=80\nP50_LATENCY=-1\n",
			"1 " + strings.Replace(rrWant,
				"request.rate", "request.latency.mean=4.002e-05 request.latency.p99=8e-05 request.rate", 1)},
		"values with commas": {"OMNI Send" + toServer +
			"\nProtocol,Throughput,Throughput Units,Elapsed Time (sec),Local Send Size\n" +
			"TCP,9.39,10^9bits/s,10.00,16384\n",
			"1 omni-send length=16384 protocol=tcp server=192.0.2.2 10 s send.bitrate=9.39e+09"},
		"columns": {columns, "1 " + strings.Replace(streamWant, "9.38641e+09", "4.09142e+09", 1)},
		"columns after interim results": {strings.Replace(columns, "Local  ", "Interim result: 9963.47 10^6bits/s "+
			"over 0.482 seconds ending at 1796030158.164\nLocal  ", 1),
			"1 " + strings.Replace(streamWant, "9.38641e+09", "4.09142e+09", 1)},
		"columns in two blocks": {"OMNI Send|Recv" + toServer + "\nThroughput Throughput Mean         Command\n" +
			"           Units      Latency      Line\n                      Microseconds\n\n" +
			"21273.08   Trans/s    46.95        \"/usr/bin/netperf -H server -t omni -- -d rr\"\n\n" +
			"Elapsed Protocol Minimum\nTime             Latency\n(sec)            Microseconds\n\n1.01    TCP      13\n",
			"1 omni-rr protocol=tcp server=192.0.2.2 1.01 s request.latency.mean=4.695e-05 request.latency.min=1.3e-05 " +
				"request.rate=21273.1"},
		"columns with one title too few": {"MIGRATED TCP MAERTS" + toServer + "\nThroughput\n\n\n\n6762.47\n",
			"1 left: THROUGHPUT or THROUGHPUT_UNITS is missing"},
		"not measured": {"OMNI Send" + toServer + "\nTHROUGHPUT=-1.00\nTHROUGHPUT_UNITS=10^6bits/s\n",
			"1 left: THROUGHPUT or THROUGHPUT_UNITS is missing"},
		"no number": {"OMNI Send" + toServer + "\nTHROUGHPUT=inf\nTHROUGHPUT_UNITS=10^6bits/s\n",
			"1 left: THROUGHPUT or THROUGHPUT_UNITS is missing"},
		"columns that moved": {strings.ReplaceAll(columns, "  ", " "),
			"1 left: below this line is no table with its titles; -k prints what is read best"},
		"rows without titles": {stream + "131072  16384  16384    10.00    9000.00\n",
			"1 " + streamWant + "; 8 left: " + netperfUntitled},
		"columns without titles": {columns + columns[strings.LastIndex(columns, "4194304"):],
			"1 " + strings.Replace(streamWant, "9.38641e+09", "4.09142e+09", 1) + "; 7 left: " + netperfUntitled},
		"a command without titles": {stream + "$ netperf -P 0 -H a\n131072  16384  16384    10.00    9000.00\n",
			"1 " + streamWant + "; 9 left: " + netperfUntitled},
		"no control": {strings.Replace(stream, " : demo", " : no control", 1), "1 " + streamWant + " ! only-sent"},
		"bits that are bytes": {strings.ReplaceAll(stream, "10^6bits", "10^0bits"),
			`1 left: the unit "10^0bits" of its rate is not known`},
		"requests as bits": {strings.Replace(rr, "per sec", "10^6bits/sec", 1),
			"1 left: the table has no transactions a second; run netperf without -f"},
		"half": {udp[:strings.LastIndex(udp, "212992")],
			"1 left: the second line of its table is missing, which has what arrived"},
		"no table": {"MIGRATED TCP STREAM" + toServer + "\n",
			"1 left: below this line is no table with its titles; -k prints what is read best"},
		"another test": {"DLPI COMPONENT" + toServer + "\n1 1 1 1 1\n", `1 left: tests of netperf called "DLPI COMPONENT" are not read`},
	} {
		all, left := ParseNetperf(c.text)
		var got []string
		for _, r := range all {
			line := fmt.Sprintf("%d %s", r.Line, r.Job)
			for _, name := range slices.Sorted(maps.Keys(r.Params)) {
				line += " " + name + "=" + r.Params[name]
			}
			line += fmt.Sprintf(" %g s", r.Seconds)
			for _, metric := range slices.Sorted(maps.Keys(r.Values)) {
				line += fmt.Sprintf(" %s=%.6g", metric, r.Values[metric])
			}
			for _, w := range r.Warnings {
				line += " ! " + w.Code
			}
			got = append(got, line)
		}
		for _, l := range left {
			got = append(got, fmt.Sprintf("%d left: %s", l.Line, l.Reason))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\n got  %s\n want %s", name, s, c.want)
		}
	}
}
