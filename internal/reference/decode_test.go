package reference

import (
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/yamlfile"
)

func builtIns(t *testing.T) []Reference {
	t.Helper()
	references, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if len(references) < 8 {
		t.Fatalf("only %d references", len(references))
	}
	return references
}

// Every figure has a source and a place in it, plausible units, and facts that the catalogue knows; every reference
// lists what it does not know.
func TestBuiltIn(t *testing.T) {
	var known []string
	for _, d := range catalogue.All() {
		known = append(known, d.Key)
	}
	seen := map[string]bool{}
	for _, r := range builtIns(t) {
		if seen[r.Name] {
			t.Errorf("%s stands twice", r.Name)
		}
		seen[r.Name] = true
		if r.Source.Title == "" || r.Title == "" || r.Hardware == "" || len(r.Unstated) == 0 {
			t.Errorf("%s does not say where it comes from or what it does not know: %+v", r.Name, r)
		}
		if r.Suite != "" && !slices.Contains(suite.Builtin(), r.Suite) {
			t.Errorf("%s: there is no suite %s", r.Name, r.Suite)
		}
		for _, f := range r.Facts {
			if !slices.Contains(known, f.Key) {
				t.Errorf("%s: the catalogue has no fact %s", r.Name, f.Key)
			}
		}
		for _, result := range r.Results {
			if result.Where == "" {
				t.Errorf("%s, line %d: no place in the source", r.Name, result.Line)
			}
			for metric, v := range result.Values {
				switch lab.Metric(metric).Unit {
				case lab.PerSecond:
					if v < 10 || v > 1e8 {
						t.Errorf("%s, line %d: %v operations a second", r.Name, result.Line, v)
					}
				case lab.BytesPerSecond:
					if v < 1e5 || v > 1e12 {
						t.Errorf("%s, line %d: %v bytes a second", r.Name, result.Line, v)
					}
				default:
					t.Errorf("%s, line %d: %s", r.Name, result.Line, metric)
				}
			}
		}
	}
}

// IOPS times the block size is the bandwidth: a typing error in either is found.
func TestFiguresAgree(t *testing.T) {
	checked := 0
	for _, r := range builtIns(t) {
		for _, result := range r.Results {
			for _, direction := range []string{lab.Read, lab.Write} {
				iops, bandwidth := result.Values[lab.IOPS(direction)], result.Values[lab.Bandwidth(direction)]
				if iops == 0 || bandwidth == 0 {
					continue
				}
				checked++
				size := map[string]float64{"4k": 4096, "8k": 8192, "1M": 1 << 20}[result.Params["bs"]]
				if math.Abs(iops*size/bandwidth-1) > 0.005 {
					t.Errorf("%s, line %d: %v operations of %v bytes are not %v a second", r.Name, result.Line,
						iops, size, bandwidth)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d checked", checked)
	}
}

const good = `version: 1
source: {name: some, title: Some report, date: 2024-01-02}
references:
  - name: raw
    title: A disk
    place: {kind: device}
    model: 'PM9A3'
    engine: fio
    params: {direct: 1, bs: 4k}
    results:
      - {job: a, params: {rw: randread, bs: 8k}, values: {read.iops: 12 k, read.bandwidth: 1.5 GB/s}, where: table 1}
`

func TestDecode(t *testing.T) {
	got, err := Decode("some.yaml", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	r := got[0]
	if r.Name != "some/raw" || !r.Model.MatchString("samsung pm9a3") || r.Source.Date.Year() != 2024 ||
		r.Place.Kind != lab.Device {
		t.Errorf("%+v", r)
	}
	result := r.Results[0]
	if !maps.Equal(result.Values, map[string]float64{"read.iops": 12000, "read.bandwidth": 1.5e9}) ||
		!maps.Equal(result.Params, map[string]string{"direct": "1", "bs": "8k", "rw": "randread"}) ||
		result.Line != 11 {
		t.Errorf("%+v", result)
	}
}

func TestExampleInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/references.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml-reference\n")
	example, _, _ := strings.Cut(rest, "```")
	if got, err := Decode("references.md", []byte(example)); !found || err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// All problems of a file are reported at once, each with its line.
func TestDecodeTellsAll(t *testing.T) {
	_, err := Decode("bad.yaml", []byte(`version: 2
source: {name: Some report, date: yesterday}
references:
  - name: raw
    title: A disk
    colour: blue
    place: {kind: tape}
    model: '('
    doubts:
      - text: hm
    engine: fio
    results:
      - {job: a, values: {read.bandwidth: 12, read.iops: many, sync.noise: 3}}
      - {job: a, values: {read.iops: -4}, where: table 1}
      - {job: b, where: table 2}
  - name: raw
    title: Another
    place: {kind: device}
    engine: fio
`))
	problems, ok := errors.AsType[yamlfile.Problems](err)
	if !ok {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{
		"bad.yaml:1: version can't be 2", `bad.yaml:2: the source's name can't be "Some report"`,
		"bad.yaml:2: the source's title is missing",
		`bad.yaml:2: date can't be "yesterday"`, "bad.yaml:6: there is no key colour here",
		`bad.yaml:7: kind can't be "tape"`,
		"bad.yaml:8: model is no regular expression", "bad.yaml:10: the doubt taints nothing",
		"bad.yaml:13: where (the place in the source) is missing",
		`bad.yaml:13: read.bandwidth can't be "12": its unit must be one of`, `bad.yaml:13: read.iops can't be "many"`,
		`bad.yaml:13: sync.noise can't be "3"`, "bad.yaml:14: a job a stands here already",
		`bad.yaml:14: read.iops can't be "-4"`,
		"bad.yaml:15: the result has no values", "bad.yaml:16: the reference has no results",
		"bad.yaml:16: a reference raw stands here already",
	} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("%q is not told in\n%v", want, problems)
		}
	}
	for _, text := range []string{"", "[]", "version: 1\nsource: [", "a: &a [*a]"} {
		if _, err := Decode("x.yaml", []byte(text)); lab.KindOf(err) != lab.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	names, _ := builtIn.ReadDir("files")
	for _, n := range names {
		data, err := builtIn.ReadFile("files/" + n.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		references, err := Decode("fuzz.yaml", data)
		if err != nil && lab.KindOf(err) != lab.Usage {
			t.Fatal(err)
		}
		for _, r := range references {
			r.Run()
		}
	})
}
