package config

import (
	"strings"
	"testing"
)

// rules accepts everything that looks like an address.
func rules() Rules {
	return Rules{Home: "/home/anna", Target: func(text string) string {
		if !strings.HasPrefix(text, "ssh://") && !strings.HasPrefix(text, "qemu:") {
			return "write ssh://host"
		}
		return ""
	}}
}

const whole = `# every key
version: 1
store: ~/runs
suites: /srv/suites
margin: 5%
alpha: 0.01
redact: true
serials: false
ssh-config: /etc/headroom/ssh
ssh-patience: 10m
kube-image: registry/fio:3
kube-disk: registry/disk:1
targets:
  fast-nas: ssh://root@nas:2222
  vm: qemu:~/guest.yaml
`

func TestDecode(t *testing.T) {
	s, err := Decode("config.yaml", User, []byte(whole), rules())
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{Store: "/home/anna/runs", Suites: "/srv/suites", Margin: "5%",
		Alpha: "0.01", Redact: "true", Serials: "false", SSHConfig: "/etc/headroom/ssh", SSHPatience: "10m",
		KubeImage: "registry/fio:3", KubeDisk: "registry/disk:1"} {
		if got := s.Text(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if len(s.Values) != len(Keys()) {
		t.Errorf("%d keys were read, and there are %d", len(s.Values), len(Keys()))
	}
	if got := s.Values[Margin].Origin.String(); got != "config.yaml:5:9" {
		t.Errorf("the margin comes from %s", got)
	}
	if s.Targets["fast-nas"].Text != "ssh://root@nas:2222" || s.Targets["vm"].Text != "qemu:/home/anna/guest.yaml" {
		t.Errorf("targets are %v", s.Targets)
	}
}

func TestDecodeNothing(t *testing.T) {
	for _, text := range []string{"", "\n", "# store: /srv\n\n  # margin: 3%\n", "targets: {}\n"} {
		s, err := Decode("config.yaml", User, []byte(text), rules())
		if err != nil || len(s.Values)+len(s.Targets) > 0 {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

func TestFaultsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string][]string{
		"store: runs\nmargin: 200%\nalpfa: 1%\nredact: yes\n": {
			`c.yaml:1:8: store can't be "runs" (write the whole path`,
			`c.yaml:2:9: margin can't be "200%" (write a share`,
			`c.yaml:3:1: the configuration has no key "alpfa" (did you mean alpha?)`,
			`c.yaml:4:9: redact can't be "yes" (write true or false)`},
		"targets:\n  Nas: ssh://nas\n  db: db1\n  vm: qemu:guest.yaml\n  local: ssh://a\n": {
			`c.yaml:2:3: a target can't be called "Nas"`, `c.yaml:3:7: target db can't be "db1" (write ssh://host)`,
			`c.yaml:4:7: target vm can't be "qemu:guest.yaml" (write the whole path`, `c.yaml:5:3: a target can't be called`},
		"ssh-patience: soon\nmargin:\n": {`c.yaml:1:15: ssh-patience can't be "soon"`, `c.yaml:2:8: margin has no value`},
		"version: 2\nshiny: 1\n":        {"update headroom"},
		"- store\n":                     {"c.yaml:1:1: the configuration must be a mapping"},
		"store: [\n":                    {"not valid YAML"},
	} {
		_, err := Decode("c.yaml", User, []byte(text), rules())
		if err == nil {
			t.Errorf("%q was taken", text)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: no %q in\n%v", text, w, err)
			}
		}
	}
}

func TestMergeTakesTheFirst(t *testing.T) {
	decode := func(place Place, text string) Settings {
		s, err := Decode(string(place), place, []byte(text), rules())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	env, err := FromEnvironment(func(name string) string {
		return map[string]string{"HEADROOM_MARGIN": "4%", TargetsVariable: " a=ssh://env  d=ssh://env "}[name]
	}, rules())
	if err != nil {
		t.Fatal(err)
	}
	s := Merge(env, decode(User, "margin: 5%\nalpha: 1%\ntargets: {a: 'ssh://user', b: 'ssh://user'}\n"),
		decode(System, "margin: 6%\nalpha: 2%\nstore: /srv\ntargets: {b: 'ssh://system', c: 'ssh://system'}\n"))
	for key, want := range map[string]Place{Margin: Environment, Alpha: User, Store: System} {
		if got := s.Values[key].Origin.Place; got != want {
			t.Errorf("%s comes from the %s, want %s", key, got, want)
		}
	}
	for name, want := range map[string]string{"a": "ssh://env", "b": "ssh://user", "c": "ssh://system",
		"d": "ssh://env"} {
		if got := s.Targets[name].Text; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestVariablesThatAreWrong(t *testing.T) {
	for variable, text := range map[string]string{"HEADROOM_MARGIN": "much", "HEADROOM_REDACT": "1",
		"HEADROOM_SSH_PATIENCE": "-1s", TargetsVariable: "ssh://db1"} {
		_, err := FromEnvironment(func(name string) string {
			if name == variable {
				return text
			}
			return ""
		}, rules())
		if err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, text, err)
		}
	}
}

// FuzzDecode checks that any file gives an error or valid values, and that a fault has a place.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(whole))
	for _, text := range []string{"", "store: ~/x", "targets: {a: ssh://b}", "targets: [a]", "a: &x\nb: *x",
		"version: 9", "margin: !!float 1", "<<: {store: /srv}", "store: \"\x00\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode("fuzz.yaml", System, data, rules())
		if err != nil {
			if !strings.Contains(err.Error(), "fuzz.yaml") {
				t.Errorf("no file in %v", err)
			}
			return
		}
		for _, k := range Keys() {
			v, ok := s.Values[k.Name]
			if ok && (k.fault(v.Text) != "" || v.Text == "" || v.Origin.Line < 1 || v.Origin.Column < 1) {
				t.Errorf("%s is %+v", k.Name, v)
			}
		}
		for name, v := range s.Targets {
			if nameFault(name) != "" || rules().Target(v.Text) != "" {
				t.Errorf("target %q is %+v", name, v)
			}
		}
	})
}
