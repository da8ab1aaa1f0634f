package summary

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

const secretSerial = "S6CKNN0T700123"

// filled puts a text with a serial number into every text of a value: lists and maps get one element, pointers
// something to point at. Types that are words of a list (a status, a verdict) keep their zero.
func filled(v reflect.Value, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString("at " + secretSerial + " it was")
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			filled(v.Index(i), depth+1)
		}
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		filled(one, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), one)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() && v.Type().Field(i).IsExported() {
				filled(v.Field(i), depth+1)
			}
		}
	}
}

// leaks are the places in a value where the serial number still stands.
func leaks(v reflect.Value, at string) []string {
	var all []string
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), secretSerial) {
			all = append(all, at)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			all = leaks(v.Elem(), at)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			all = append(all, leaks(v.Index(i), at+"[]")...)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			all = append(all, leaks(v.MapIndex(k), at+"{}")...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				all = append(all, leaks(v.Field(i), at+"."+f.Name)...)
			}
		}
	}
	return slices.Compact(all)
}

// No text of a run keeps a serial number, but those that headroom itself writes, and in which none can be.
func TestRedactReachesEveryText(t *testing.T) {
	var s Run
	filled(reflect.ValueOf(&s).Elem(), 0)
	if n := len(leaks(reflect.ValueOf(s), "")); n < 80 {
		t.Fatalf("only %d texts were filled", n)
	}
	s.Targets[0].Facts = []lab.Fact{{Key: "disk.under-test.serial", Value: secretSerial},
		{Key: "kernel.cmdline", Value: "at " + secretSerial}}
	keep := append(roles(), "Good", "Bad", "Boot") // Commits.Good and Commits.Bad
	for _, place := range leaks(reflect.ValueOf(Redact(s, false)), "") {
		if last := strings.TrimRight(place[strings.LastIndexByte(place, '.')+1:], "[]"); !slices.Contains(keep, last) ||
			strings.Contains(place, ".Kernels.") {
			t.Errorf("%s keeps a serial number", place)
		}
	}
	if again := leaks(reflect.ValueOf(s), ""); len(again) < 80 {
		t.Errorf("the run that was given was changed: %d texts are left", len(again))
	}
}

// Where a host is called as its role is, its role is still told: factors begin with it.
func TestRedactKeepsRolesOfExperiments(t *testing.T) {
	const factor = "server:sysctl:net.core.rmem_max"
	s := Run{Experiment: &lab.Experiment{Factors: []lab.VariedFactor{{Factor: factor, Levels: []string{"1", "2"}}}}}
	s.Targets = []lab.RunTarget{{Role: "client"},
		{Role: "server", Facts: []lab.Fact{{Key: "host.name", Value: "server"}}}}
	s.Cells = []Cell{{Role: "server", Levels: map[string]string{factor: "1"}, Target: "ssh://server"}}
	clean := Redact(s, false)
	if clean.Experiment.Factors[0].Factor != factor || clean.Cells[0].Levels[factor] != "1" ||
		clean.Cells[0].Role != "server" {
		t.Errorf("%+v, %+v", clean.Experiment, clean.Cells)
	}
	if strings.Contains(clean.Cells[0].Target, "server") {
		t.Errorf("the host's name is in %s", clean.Cells[0].Target)
	}
}
