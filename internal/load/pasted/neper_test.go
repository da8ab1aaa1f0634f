package pasted

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"
)

// neperFixture returns output of neper over the loopback: a version of November 2025, and for old-* one from before
// July 2019.
func neperFixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func neperSummary(all []Result, left []Left) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "  %d %s, %g s", r.Line, r.Job, r.Seconds)
		for _, name := range slices.Sorted(maps.Keys(r.Params)) {
			fmt.Fprintf(&b, " %s=%s", name, r.Params[name])
		}
		for _, metric := range slices.Sorted(maps.Keys(r.Values)) {
			fmt.Fprintf(&b, "\n    %s %.9g", metric, r.Values[metric])
		}
		fmt.Fprintf(&b, "\n    %s, %q\n", r.Form, r.Test)
	}
	for _, l := range left {
		fmt.Fprintf(&b, "  %d left: %s\n", l.Line, l.Reason)
	}
	return b.String()
}

func TestNeperGolden(t *testing.T) {
	var all strings.Builder
	texts := golden.Fixtures(t, "testdata/*.txt", 12)
	delete(texts, "testdata/golden.txt")
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all.WriteString(filepath.Base(name) + "\n" + neperSummary(ParseNeper(texts[name])))
	}
	golden.Equal(t, "testdata/golden.txt", all.String())
}

// Both ends identify the same test equally.
func TestNeperEndsAgree(t *testing.T) {
	for _, name := range []string{"stream", "maerts", "crr"} {
		client, _ := ParseNeper(neperFixture(t, name))
		server, _ := ParseNeper(neperFixture(t, name+"-server"))
		if len(client) != 1 || len(server) != 1 || client[0].Test != server[0].Test || client[0].Test == "" ||
			client[0].Form == server[0].Form || client[0].Job != server[0].Job {
			t.Errorf("%s: the client prints %+v, the server %+v", name, client, server)
		}
	}
}

func TestNeper(t *testing.T) {
	const options = "VERSION=1.1.0\nthroughput_opt=Mb\ntcp_fastopen=0\nclient=0\nnum_flows=1\nmaxevents=1000\nmagic=42\n"
	const end = "total_run_time=2\nthroughput=5053.41\nthroughput_units=Mbit/s\nlocal_throughput=5053409613\n" +
		"remote_throughput=0\n"
	stream := func(line int, options, values string) string {
		return fmt.Sprintf("  %d tcp-stream, 2 s%s\n    send.bitrate %s\n    server, ", line, options, values)
	}
	one := stream(2, " parallel=1 protocol=tcp", "5.05340961e+09") + "\"stream 5053409613 0\"\n"
	const missing = "left: no command or option identifies neper's program; paste all of its lines\n"
	for name, c := range map[string]struct{ text, want string }{
		"server": {options + end, one},
		"twice":  {options + end + options + end, one + strings.Replace(one, "  2", "  14", 1)},
		"twice without a version": {strings.Repeat(strings.TrimPrefix(options, "VERSION=1.1.0\n")+end, 2),
			strings.Replace(one, "  2", "  1", 1) + strings.Replace(one, "  2", "  12", 1)},
		"units alone": {options + "throughput=5.00\nthroughput_units=KBytes/s\n",
			"  2 tcp-stream, 0 s parallel=1 protocol=tcp\n    send.bitrate 40960\n    server, \"\"\n"},
		"a command and the end": {"$ ./tcp_rr -c -H b | grep throughput\nthroughput=10.50\nlocal_throughput=10\nremote_throughput=9\n",
			"  2 tcp-rr, 0 s protocol=tcp server=b\n    request.rate 10.5\n    client, \"requests 10 9\"\n"},
		"options of the command": {"$ tcp_rr -c -Hb -F 8 -Q 64 --response-size=128 -l 5 | grep throughput\nthroughput=10.50\n",
			"  2 tcp-rr-p8, 0 s parallel=8 protocol=tcp request=64 response=128 server=b time=5\n    request.rate 10.5\n" +
				"    client, \"\"\n"},
		"another below a command": {"$ tcp_rr -F 8\n" + options + end, strings.Replace(one, "  2", "  3", 1)},
		"PSP": {"# sudo psp_stream -c -H b\nlocal_throughput=0\nremote_throughput=9\n",
			"  2 psp-stream, 0 s protocol=psp server=b\n    send.bitrate 9\n    client, \"stream 9 0\"\n"},
		"the end alone": {"throughput=10.50\nlocal_throughput=10\n", "  1 " + missing},
		"of netperf":    {"$ netperf -H a -t tcp_rr -P 0\nthroughput=10.50\nlocal_throughput=10\n", "  1 " + missing},
		"neither end": {strings.Replace(options, "client=0\n", "", 1) + end,
			"  2 left: client=1 or client=0 is missing; paste all lines\n"},
		"several clients": {strings.Replace(options, "client=0", "client=0\nnum_clients=2", 1) + end,
			"  2 left: the server had several clients, and its figures are of all of them\n"},
		"mixed": {options + strings.Replace(end, "5053.41", "4053.41", 1), "  2 left: " + neperMixed + "\n"},
		"mixed requests": {"$ tcp_rr -c -H b\nthroughput=10.50\nlocal_throughput=20\n",
			"  2 left: " + neperMixed + "\n"},
		"a unit": {options + strings.Replace(end, "Mbit/s", "Mbaud/s", 1),
			"  2 left: the unit \"Mbaud/s\" of its rate is not known\n"},
		"cut off": {options + "invalid_secret_count=0\n",
			"  2 left: it has no rate: the end of it is missing, or this end only sent; paste what the other end printed\n"},
		"nothing": {options + strings.NewReplacer("5053409613", "0", "5053.41", "0.00").Replace(end),
			"  2 left: this end received nothing; paste what the other end printed\n"},
		"less than nothing": {options + "invalid_secret_count=0\nlocal_throughput=0\nremote_throughput=-95\n",
			"  2 left: this end received nothing; paste what the other end printed\n"},
		"no number": {options + "invalid_secret_count=0\nlocal_throughput=0\nremote_throughput=+Inf\n",
			"  2 left: this end received nothing; paste what the other end printed\n"},
		"a line of it": {"correlation_coefficient=1.00\n", "  1 " + missing},
		"no neper":     {"host=a\nthroughput=5\n", ""},
	} {
		if got := neperSummary(ParseNeper(c.text)); got != c.want || IsNeper([]byte(c.text)) != (got != "") {
			t.Errorf("%s:\n got\n%s want\n%s", name, got, c.want)
		}
	}
}

func FuzzParseNeper(f *testing.F) {
	for _, text := range golden.Fixtures(f, "testdata/*.txt", 12) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, left := ParseNeper(text)
		for _, r := range all {
			if r.Line < 1 || r.Job == "" || len(r.Values) == 0 {
				t.Errorf("%+v", r)
			}
		}
		for _, l := range left {
			if l.Line < 1 || l.Reason == "" {
				t.Errorf("%+v", l)
			}
		}
	})
}
