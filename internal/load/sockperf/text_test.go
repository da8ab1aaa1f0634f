package sockperf

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"
)

func TestText(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	udp, oneWay := read("3.7-ping-pong-udp.txt"), read("3.7-throughput.txt")
	_, cut, _ := strings.Cut(udp, "[Total Run]")
	for name, c := range map[string]struct{ text, want string }{
		"whole": {udp, "udp map[protocol:udp server:198.18.9.2] 5.4262e-05"},
		"two calls": {"root@a:~# sockperf pp -i 198.18.9.2 -m 64 -t 2\n" + udp +
			"root@a:~# sockperf tp -i 198.18.9.2\n" +
			oneWay, "ping-pong-udp map[mode:ping-pong msg-size:64 protocol:udp server:198.18.9.2 time:2] 5.4262e-05; " +
			"throughput-udp map[mode:throughput protocol:udp server:198.18.9.2] 0"},
		"two without a command": {udp + udp, "udp map[protocol:udp server:198.18.9.2] 5.4262e-05; " +
			"udp map[protocol:udp server:198.18.9.2] 5.4262e-05"},
		"in a loop": {"$ for i in 1 2; do sockperf under-load --mps=1000 --tcp -i h; done\n" + udp + udp,
			"under-load-udp map[mode:under-load mps:1000 protocol:udp server:198.18.9.2] 5.4262e-05; " +
				"under-load-udp map[mode:under-load mps:1000 protocol:udp server:198.18.9.2] 5.4262e-05"},
		"half of what is printed": {"sockperf: [Total Run]" + cut, "sockperf map[] 5.4262e-05"},
		"half of the way": {"sockperf: [Valid Duration] RunTime=1.0 sec; SentMessages=10; ReceivedMessages=10\n" +
			"sockperf: ====> avg-lat= 20.000 (std-dev=1.0)\n", "sockperf map[] 4e-05"},
		"a server": {"sockperf: == version #3.7-no.git ==\nsockperf: [SERVER] listen on:\n",
			"1 left: a server of sockperf prints no times; paste what the client printed"},
	} {
		all, left := ParseText(c.text)
		var got []string
		for _, r := range all {
			got = append(got, fmt.Sprintf("%s %v %.6g", r.Job, r.Params, r.Values["request.latency.mean"]))
		}
		for _, l := range left {
			got = append(got, fmt.Sprintf("%d left: %s", l.Line, l.Reason))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\n got  %s\n want %s", name, s, c.want)
		}
	}
	fixtures := golden.Fixtures(t, "testdata/3.*.txt", 8)
	for name, text := range fixtures {
		want, err := Parse([]byte(text))
		if err != nil || strings.Contains(text, "[SERVER]") {
			continue
		}
		if all, _ := ParseText(text); len(all) != 1 || !maps.Equal(all[0].Values, want.Values()) {
			t.Errorf("%s: %+v", name, all)
		}
	}
	if fixtures["testdata/3.10-ping-pong.txt"] == "" {
		t.Error("3.10 is not among them")
	}
}

func FuzzParseText(f *testing.F) {
	for _, text := range golden.Fixtures(f, "testdata/3.*.txt", 1) {
		f.Add(text, "-m 1 -t")
	}
	f.Fuzz(func(t *testing.T, text, options string) {
		all, _ := ParseText("$ sockperf pp " + options + "\n" + text)
		for _, r := range all {
			if r.Line < 1 || r.Job == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}
