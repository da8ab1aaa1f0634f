package iperf3

import (
	"strings"
	"testing"
	"time"
)

func TestArgv(t *testing.T) {
	params := map[string]string{"protocol": "udp", "time": "1m", "omit": "1s", "bitrate": "1g", "reverse": "0",
		"zerocopy": "1", "parallel": "8"}
	const client = "iperf3 --client 192.0.2.7 --port 5301 --json --get-server-output --connect-timeout 5000 " +
		"--bitrate 1g --omit 1 --parallel 8 --udp --time 60 --zerocopy"
	if got := strings.Join(Client(params, "192.0.2.7", 5301), " "); got != client {
		t.Errorf("got  %s\nwant %s", got, client)
	}
	if got := TestTime(params); got != 61*time.Second {
		t.Errorf("it takes %s", got)
	}
	if got := TestTime(nil); got != 10*time.Second {
		t.Errorf("by itself it takes %s", got)
	}
	const server = "timeout -k 5 121 iperf3 --server --one-off --bind 192.0.2.7 --port 5301 --json"
	if got := strings.Join(Server("192.0.2.7", 5301, TestTime(params)+time.Minute), " "); got != server {
		t.Errorf("got  %s\nwant %s", got, server)
	}
	if got := Title(params); got != "udp zerocopy bitrate 1g x8" {
		t.Errorf("%q", got)
	}
}

func TestParseError(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\t\"start\":\t{},\n\t\"error\":\t\"error - unable to start listener for connections: Address already in " +
			"use\"\n}": "unable to start listener for connections: Address already in use",
		"iperf3: error - unable to start listener for connections: Cannot assign requested address\n": "unable to " +
			"start listener for connections: Cannot assign requested address",
		"": "", "Killed": "",
	} {
		if got, err := ParseError([]byte(text)); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// Packets are as large as possible, unless the options make them smaller: a TCP that may delay fills them, whatever the
// size of the writes.
func TestPayload(t *testing.T) {
	for _, c := range []struct {
		params map[string]string
		want   int64
	}{
		{nil, 0},
		{map[string]string{"length": "128"}, 0},
		{map[string]string{"length": "128", "no-delay": "1"}, 128},
		{map[string]string{"length": "1k", "protocol": "udp"}, 1024},
		{map[string]string{"set-mss": "536", "length": "128k", "no-delay": "1"}, 536},
	} {
		if got := Payload(c.params); got != c.want {
			t.Errorf("%v: %d, not %d", c.params, got, c.want)
		}
	}
}
