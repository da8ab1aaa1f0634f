package experiment

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestRoutesAndAddressesThatGoWithAPort(t *testing.T) {
	routes := "default via 10.0.11.254 proto static metric 100 linkdown\n10.0.11.0/24 proto kernel scope link src " +
		"10.0.11.2\n198.18.9.2 table 7 via 198.18.7.2 src 198.18.9.1 metric 10\nlocal 10.0.11.2 table local proto " +
		"kernel scope host src 10.0.11.2\ndefault via fe80::1 proto ra metric 1024 pref medium\n"
	want := []string{"-4 route replace default via 10.0.11.254 proto static metric 100 dev eth1",
		"-4 route replace 198.18.9.2 table 7 via 198.18.7.2 src 198.18.9.1 metric 10 dev eth1"}
	if got := routesOf(routes, "-4", "eth1"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	addresses := "3: eth1    inet6 fd00::1/64 scope global \\       valid_lft forever preferred_lft forever\n" +
		"2: eth1    inet6 2001:db8::5054:ff:fe12:3456/64 scope global dynamic mngtmpaddr \\       valid_lft 86353sec " +
		"preferred_lft 14353sec\n"
	if got := addressesOf(addresses, "eth1"); !slices.Equal(got, []string{"-6 address replace fd00::1/64 dev eth1"}) {
		t.Errorf("%q", got)
	}
	if port := wordAfter("10.0.12.1 via 10.0.11.254 dev bond0 src 10.0.11.2 uid 0", "dev"); port != "bond0" {
		t.Error(port)
	}
}

// From any output of ip, only arguments of ip about that port are produced.
func FuzzRoutesOf(f *testing.F) {
	f.Add("default via 10.0.11.254 proto static metric 100\n10.0.11.0/24 proto kernel scope link src 10.0.11.2\n" +
		"198.18.9.2 table 7 via 198.18.7.2 metric 10\n")
	f.Add("3: eth1    inet6 fd00::1/64 scope global \\       valid_lft forever preferred_lft forever\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range append(routesOf(text, "-4", "eth1"), addressesOf(text, "eth1")...) {
			if !strings.HasPrefix(line, "-4 route replace ") && !strings.HasPrefix(line, "-6 address replace ") ||
				wordAfter(line, "dev") == "" {
				t.Errorf("%q of %q", line, text)
			}
		}
	})
}

// The table in the docs equals the descriptions of the kinds.
func TestEventsInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/howto/events.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(string(text), "`", "")
	for _, k := range EventKinds() {
		if row := "| " + k.Name + " " + k.Arguments + " | " + k.Does + " | " + k.Refused +
			" |\n"; !strings.Contains(plain, row) {
			t.Errorf("docs/howto/events.md has no row\n%s", row)
		}
	}
}

func TestWordsOfEvents(t *testing.T) {
	for _, k := range EventKinds() {
		words := append([]string{k.Name}, slices.Repeat([]string{"x"}, k.Words)...)
		if found, ok := FindEvent(k.Name); !ok || found.Check(words) != nil || found.Check(append(words, "y")) == nil ||
			found.Check(words[:1]) == nil {
			t.Errorf("%s", k.Name)
		}
		words[1] = "--force"
		if k.Check(words) == nil {
			t.Errorf("%s takes %s", k.Name, words[1])
		}
	}
}
