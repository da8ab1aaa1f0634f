package iperf3

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"

	"github.com/headroom/headroom/internal/lab"
)

func parsed(t testing.TB, name string) []Pasted {
	t.Helper()
	all, lost, err := ParseText(string(read(t, "text/"+name)))
	if len(lost) > 0 || err != nil {
		t.Errorf("%s: lines %v are not understood", name, lost)
	}
	return all
}

// near reports whether two results are equal to the three digits that are printed.
func near(a, b float64) bool { return math.Abs(a-b) <= 0.006*max(math.Abs(a), math.Abs(b)) }

func (p Pasted) summary() string {
	s := fmt.Sprintf("%s %s x%d", p.Tool, p.Protocol, p.Streams)
	for _, metric := range slices.Sorted(maps.Keys(p.Values())) {
		if !strings.HasPrefix(metric, "cpu.") {
			s += fmt.Sprintf(" %s=%.6g", metric, p.Values()[metric])
		}
	}
	for _, w := range p.Unconfirmed() {
		s += " ! " + strings.Join(w.Taints, " ")
	}
	if p.Failed != "" {
		s += " failed: " + p.Failed
	}
	return s
}

// TestText parses printed tests. The expected values are those of the lines.
func TestText(t *testing.T) {
	for name, want := range map[string][]string{
		"3.12-tcp-P2.txt":   {"iperf3 TCP x2 send.bitrate=1.01e+08 send.retransmits=2"},
		"3.12-udp-P2.txt":   {"iperf3 UDP x2 send.bitrate=4.11e+06 send.jitter=0.002409 send.lost=0"},
		"3.12-reverse.txt":  {"iperf3 TCP x1 receive.bitrate=5.03e+07 receive.retransmits=0"},
		"3.12-bidir-V.txt":  {"iperf3 TCP x1 receive.bitrate=5.03e+07 receive.retransmits=0 send.bitrate=5.03e+07 send.retransmits=0"},
		"3.12-bidir-P2.txt": {"iperf3 TCP x2 receive.bitrate=1.01e+08 receive.retransmits=2 send.bitrate=1.01e+08 send.retransmits=0"},
		"3.12-bidir-P2-server.txt": {"iperf3 TCP x2 receive.bitrate=1.01e+08 receive.retransmits=2 send.bitrate=1.01e+08" +
			" ! receive.bitrate"},
		// 5.99 MBytes/sec of 2^20 bytes
		"3.12-reverse-omit-M.txt":       {"iperf3 TCP x1 receive.bitrate=5.02478e+07 receive.retransmits=2"},
		"3.12-omit-V-server-output.txt": {"iperf3 TCP x1 send.bitrate=5.03e+07 send.retransmits=0"},
		"3.12-title-timestamps.txt":     {"iperf3 TCP x1 send.bitrate=5.03e+07 send.retransmits=0"},
		"3.12-udp-server.txt":           {"iperf3 UDP x1 send.bitrate=1.99e+06 send.jitter=0.011005 send.lost=0"},
		"3.12-reverse-server.txt":       {"iperf3 TCP x1 receive.bitrate=5.02e+07 receive.retransmits=2 ! receive.bitrate"},
		"3.12-udp-reverse-server.txt":   {"iperf3 UDP x1 ! receive.bitrate"},
		"3.12-refused.txt":              {"iperf3  x0 failed: unable to connect to server: Connection refused"},
		"3.12-server-log.txt":           {"iperf3 TCP x1 send.bitrate=5.03e+07", "iperf3 TCP x2 send.bitrate=1.01e+08"},
		"2.1.8-tcp-e.txt":               {"iperf2 TCP x1 send.bitrate=5.21e+07 send.retransmits=1 ! send.bitrate"},
		"2.1.8-tcp-P2-server.txt":       {"iperf2 TCP x2 send.bitrate=1.06e+08"},
		"2.1.8-udp-P2.txt":              {"iperf2 UDP x2 send.bitrate=4.22e+06 send.jitter=3e-06 send.lost=0"},
		"2.1.8-udp-e.txt":               {"iperf2 UDP x1 send.bitrate=2.11e+06 send.jitter=4e-06 send.lost=0"},
		"2.1.8-full-duplex-P2.txt":      {"iperf2 TCP x2 receive.bitrate=1.049e+08 send.bitrate=1.058e+08 ! send.bitrate"},
		"2.1.8-reverse.txt":             {"iperf2 TCP x1 receive.bitrate=5.24e+07"},
		"2.1.8-tradeoff-server.txt": {"iperf2 TCP x1 send.bitrate=5.36e+07",
			"iperf2 TCP x1 receive.bitrate=5.12e+07 send.bitrate=5.23e+07 ! receive.bitrate"},
	} {
		all := parsed(t, name)
		var got []string
		for _, p := range all {
			got = append(got, p.summary())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got  %q\n want %q", name, got, want)
		}
		if !IsText(read(t, "text/"+name)) {
			t.Errorf("%s is not known as iperf's", name)
		}
	}
	names, err := filepath.Glob("testdata/text/*")
	if err != nil || len(names) != 21 {
		t.Errorf("%d fixtures, %v", len(names), err)
	}
}

// TestTextAgrees compares the client's text with the server's JSON of the same test.
func TestTextAgrees(t *testing.T) {
	for text, document := range map[string]string{
		"3.12-tcp-P2.txt": "iperf3-3.12-server-tcp-P2.json", "3.12-udp-P2.txt": "iperf3-3.12-server-udp-P2.json",
		"3.12-reverse.txt": "iperf3-3.12-server-reverse.json", "3.12-bidir-V.txt": "iperf3-3.12-server-bidir.json",
	} {
		got := parsed(t, text)[0]
		want, err := Parse(read(t, document))
		if err != nil {
			t.Fatal(err)
		}
		for metric, v := range want.Values() {
			if at, there := got.Values()[metric]; there && !near(at, v) && metric != lab.ServerCPU ||
				!there && metric != lab.ServerCPU && !strings.HasSuffix(metric, ".rtt") {
				t.Errorf("%s: %s is %g, want %g", text, metric, at, v)
			}
		}
		if got.Protocol != want.Protocol || got.Streams != want.Streams || got.Client != want.Client ||
			got.Server != want.Server || !near(got.Ran(), want.Ran()) {
			t.Errorf("%s: %+v, want %+v", text, got.Result, want)
		}
		for i, s := range got.Series() {
			if w := want.Series(); i >= len(w) || w[i].Interval != s.Interval || len(w[i].Values) != len(s.Values) {
				t.Errorf("%s: series %+v, want %+v", text, s, w)
			}
		}
	}
}

// TestVerbose parses the additional output of -V, and the command if it is pasted.
func TestVerbose(t *testing.T) {
	r := parsed(t, "3.12-omit-V-server-output.txt")[0]
	if r.Version != "3.12" || r.Block != 131072 || r.Seconds != 2 ||
		r.Omit != 1 || 8*r.Rate != 50e6 ||
		r.SenderCongestion != "bbr" || !near(r.ClientCPU, 0.029) || r.ServerCPU != 0.004 ||
		r.Start.Unix() != 1796003486 {
		t.Errorf("%+v", r.Result)
	}
	for command, want := range map[string]string{
		"iperf3 -c a -P20 -t360":                       "TCP x20 360 s 0 B 0 bit/s omit 0",
		"root@a:~# iperf3 -uc a -b1.5G/32 -l 1400":     "UDP x1 0 s 1400 B 1.5e+09 bit/s omit 0",
		"$ sudo ./iperf3 --client a --udp --time=5":    "UDP x1 5 s 0 B 1.04858e+06 bit/s omit 0",
		"$ iperf3 -c a -O 2 -P $n -l 128K --bitrate 0": "TCP x1 0 s 131072 B 0 bit/s omit 2",
		"iperf3 \\\n  -c a \\\n  -t 7 | tee log":       "TCP x1 7 s 0 B 0 bit/s omit 0",
	} {
		all, _, _ := ParseText(command + "\n[  5]   0.00-9.00  sec  1 MBytes  1 Mbits/sec  receiver\n")
		got := ""
		for _, r := range all {
			got += fmt.Sprintf("%s x%d %g s %d B %.6g bit/s omit %g", r.Protocol,
				r.Streams, r.Seconds, r.Block, 8*r.Rate,
				r.Omit)
		}
		if got != want && !strings.Contains(want, "x20") {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// TestTextLines parses parts of the output, and the output of other versions.
func TestTextLines(t *testing.T) {
	const receiver = "[  5]   0.00-10.04  sec  1.09 GBytes   938 Mbits/sec                  receiver\n"
	const sender = "[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    7             sender\n"
	const connected = "[  4] local 192.0.2.1 port 5 connected to 192.0.2.2 port 5201\n"
	const server2 = "Server listening on TCP port 5001\n[  4] local 192.0.2.2 port 5001 connected with 192.0.2.1 port 7\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"sums below a command": {"# /usr/src/iperf-3.21/src# ./iperf3 -c 192.0.2.24 -P20 -t360\n" +
			"[SUM]   0.00-360.00 sec  2.72 TBytes  66.4 Gbits/sec  19545340             sender\n" +
			"[SUM]   0.00-360.00 sec  2.72 TBytes  66.4 Gbits/sec                  receiver\n",
			[]string{"iperf3 TCP x20 send.bitrate=6.64e+10 send.retransmits=1.95453e+07"}},
		"a loop's receivers": {receiver + receiver + receiver, []string{"iperf3 TCP x1 send.bitrate=9.38e+08",
			"iperf3 TCP x1 send.bitrate=9.38e+08", "iperf3 TCP x1 send.bitrate=9.38e+08"}},
		"sender and receiver": {sender + receiver + sender + receiver,
			[]string{"iperf3 TCP x1 send.bitrate=9.38e+08 send.retransmits=7",
				"iperf3 TCP x1 send.bitrate=9.38e+08 send.retransmits=7"}},
		"no receiver": {sender, []string{"iperf3 TCP x1 send.bitrate=9.41e+08 send.retransmits=7 ! send.bitrate"}},
		"pods": {"[pod/a/iperf] " + sender + "[pod/a/iperf] " + receiver + "[pod/a/iperf] \n",
			[]string{"iperf3 TCP x1 send.bitrate=9.38e+08 send.retransmits=7"}},
		"no sum of streams": {connected + strings.Replace(connected, "4", "6", 1) +
			strings.ReplaceAll(receiver, "5]", "4]"),
			[]string{"iperf3 TCP x1 failed: the line [SUM] with the rate of all streams is missing"}},
		"cut off": {connected + "[  4]   0.00-1.00   sec   112 MBytes   941 Mbits/sec    0    400 KBytes\n",
			[]string{"iperf3 TCP x1 failed: it ended before the test did"}},
		"interrupted": {sender + strings.Replace(receiver, "938 Mbits", "0.00 bits", 1) +
			"iperf3: interrupt - the client has terminated\n",
			[]string{"iperf3 TCP x1 send.bitrate=9.41e+08 send.retransmits=7 " +
				"! send.bitrate failed: interrupt - the client has terminated"}},
		"nothing arrived": {"[  5]   0.00-0.00   sec  37.1 KBytes   733 Mbits/sec    0             sender\n" +
			"[  5]   0.00-0.08   sec  0.00 Bytes  0.00 bits/sec                  receiver\n",
			[]string{"iperf3 TCP x1 send.bitrate=0 send.retransmits=0"}},
		"UDP of 3.1": {"- - - - - - - -\n" +
			"[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n" +
			"[  4]   0.00-10.00  sec  1.25 MBytes  1.00 Mbits/sec  0.057 ms  40/160 (25%)  \n[  4] Sent 160 datagrams\n",
			[]string{"iperf3 UDP x1 send.bitrate=750000 send.jitter=5.7e-05 send.lost=0.25"}},
		"UDP at a server of 3.1": {"Accepted connection from 192.0.2.1, port 4\n" +
			"[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n" +
			"[  5]   0.00-1.00   sec   100 KBytes  800 Kbits/sec  0.03 ms  0/12 (0%)  \n" +
			"[  5]   1.00-2.00   sec   100 KBytes  1.00 Mbits/sec  0.03 ms  1/13 (7.7%)  \n" +
			"- - - - - - - -\n[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n" +
			"[  5]   0.00-2.00   sec  0.00 Bytes  0.00 bits/sec  0.030 ms  1/25 (4%)  \n",
			[]string{"iperf3 UDP x1 send.bitrate=900000 send.jitter=3e-05 send.lost=0.04"}},
		"zeros of a server of 3.1": {"Accepted connection from 192.0.2.1, port 4\n" +
			"[  5]   0.00-10.04  sec  0.00 Bytes  0.00 bits/sec                  sender\n" + receiver,
			[]string{"iperf3 TCP x1 send.bitrate=9.38e+08"}},
		"lost of omitted unknown": {"[  5]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.057 ms  Unknown/160  receiver\n",
			[]string{"iperf3 UDP x1 send.bitrate=1.05e+06"}},
		"negative losses": {"[  5]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.057 ms  -1/160 (-0.62%)  receiver\n",
			[]string{"iperf3 UDP x1 send.bitrate=1.05e+06 send.jitter=5.7e-05 send.lost=-0.00625"}},
		"decimal commas": {strings.ReplaceAll(strings.ReplaceAll(receiver, ".", ","), "938", "9,38"),
			[]string{"iperf3 TCP x1 send.bitrate=9.38e+06"}},
		"iperf 2.0.5": {"Client connecting to 192.0.2.2, UDP port 5001\nSending 1470 byte datagrams\n" +
			"[ 3] local 192.0.2.1 port 37449 connected with 192.0.2.2 port 5001\n[ ID] Interval Transfer Bandwidth\n" +
			"[ 3] 0.0-10.0 sec 754 MBytes 633 Mbits/sec\n[ 3] Sent 538085 datagrams\n[ 3] Server Report:\n" +
			"[ 3] 0.0-10.0 sec 754 MBytes 632 Mbits/sec 0.012 ms 40/538084 (0.0074%)\n" +
			"[ 3] 0.0-10.0 sec 1 datagrams received out-of-order\n",
			[]string{"iperf2 UDP x1 send.bitrate=6.32e+08 send.jitter=1.2e-05 send.lost=7.43378e-05"}},
		"iperf 2 without an answer": {"Client connecting to 192.0.2.2, UDP port 5001\n" +
			"[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec\n[  3] Sent 893 datagrams\n" +
			"[  3] WARNING: did not receive ack of last datagram after 10 tries.\n", []string{"iperf2 UDP x1 ! send.bitrate"}},
		"iperf 2's lines": {"[  3]  0.0- 1.0 sec   112 MBytes   941 Mbits/sec\n" +
			"[  3]  1.0- 2.0 sec   112 MBytes   939 Mbits/sec\n" +
			"[  3]  0.0- 2.0 sec   224 MBytes   940 Mbits/sec\n[  3]  0.0- 2.0 sec   224 MBytes   930 Mbits/sec\n",
			[]string{"iperf2 TCP x1 send.bitrate=9.4e+08 ! send.bitrate",
				"iperf2 TCP x1 send.bitrate=9.3e+08 ! send.bitrate"}},
		"iperf 2 cut off": {"[  3]  0.0- 1.0 sec   112 MBytes   941 Mbits/sec\n" +
			"" +
			"[  3]  1.0- 2.0 sec   112 MBytes   939 Mbits/sec\n",
			[]string{"iperf2 TCP x1 failed: it ended before the test did"}},
		"iperf 2's interval as long as the test": {"[  1] local 192.0.2.1 port 7 connected with 192.0.2.2 port 5001\n" +
			"[  1] 0.0000-2.0000 sec  2.50 MBytes  10.5 Mbits/sec\n[  1] 0.0000-2.0224 sec  2.63 MBytes  10.9 Mbits/sec\n",
			[]string{"iperf2 TCP x1 send.bitrate=1.09e+07 ! send.bitrate"}},
		"iperf 2's server twice": {server2 + "[  4]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec\n" +
			strings.Replace(strings.SplitAfter(server2, "\n")[1], "4", "5", 1) +
			"[  5]  0.0-10.0 sec  1.10 GBytes   931 Mbits/sec\n",
			[]string{"iperf2 TCP x1 send.bitrate=9.41e+08", "iperf2 TCP x1 send.bitrate=9.31e+08"}},
		"iperf 2 both ways": {"Server listening on TCP port 5001\nClient connecting to 192.0.2.2, TCP port 5001\n" +
			"[  5] local 192.0.2.1 port 40000 connected with 192.0.2.2 port 5001\n" +
			"[  4] local 192.0.2.1 port 5001 connected with 192.0.2.2 port 50000\n" +
			"[  5]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec\n[  4]  0.0-10.0 sec  1.10 GBytes   931 Mbits/sec\n",
			[]string{"iperf2 TCP x1 receive.bitrate=9.31e+08 send.bitrate=9.41e+08 ! send.bitrate"}},
	} {
		all, lost, err := ParseText(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, p := range all {
			got = append(got, p.summary())
		}
		if !slices.Equal(got, c.want) || len(lost) > 0 {
			t.Errorf("%s: lost %v\n got  %q\n want %q", name, lost, got, c.want)
		}
	}
	if _, lost, _ := ParseText("a\n[  3]  0.0-10.0 sec  a few  941 Mbits/sec\n"); !slices.Equal(lost, []int{2}) {
		t.Errorf("lines that are not understood: %v", lost)
	}
	interval := "[  5]   0.00-1.00   sec  1.09 GBytes   938 Mbits/sec\n"
	next := strings.Replace(interval, "0.00-1", "1.00-2", 1)
	if _, _, err := ParseText(connected + connected + interval + interval + next + next); err == nil ||
		!strings.HasPrefix(err.Error(), "line 4: ") {
		t.Errorf("two processes at once: %v", err)
	}
	if all, _, err := ParseText(interval + next + interval + next + receiver); err != nil || len(all) != 2 ||
		all[0].Failed == "" || all[1].Forward == nil {
		t.Errorf("a test without an end before another: %+v, %v", all, err)
	}
	if IsText(read(t, "iperf3-3.12-server-output.json")) || IsText([]byte(`"x": "`+receiver)) {
		t.Error("JSON is taken for text")
	}
}

func FuzzParseText(f *testing.F) {
	for _, text := range golden.Fixtures(f, "testdata/text/*", 1) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, _, _ := ParseText(text)
		for _, p := range all {
			for _, flow := range []*Flow{p.Forward, p.Reverse} {
				if flow != nil && !(flow.Seconds > 0) {
					t.Errorf("%+v", flow)
				}
			}
			if p.Line < 1 || p.Prompt < 1 || p.Prompt > p.Line {
				t.Errorf("lines %d, %d", p.Line, p.Prompt)
			}
			p.Series()
		}
	})
}
