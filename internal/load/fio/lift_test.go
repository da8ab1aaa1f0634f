package fio

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// bothWays decodes a document with its distributions lifted and in the plain way, and requires the same result.
func bothWays(t *testing.T, data []byte) (lifted bool) {
	t.Helper()
	var quick decoder
	plain := decoder{room: len(data) / binLine}
	got, gotErr := quick.document(data)
	want, wantErr := plain.decode(data)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("lifted: %v; plain: %v", gotErr, wantErr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("lifted:\n%+v\nplain:\n%+v", got, want)
	}
	return len(quick.lifted) > 0
}

func TestLiftOfFixtures(t *testing.T) {
	lifted := 0
	for _, file := range fixtures(t, "json") {
		s := &scanner{buf: read(t, file)}
		for _, found := s.next(); found; _, found = s.next() {
			end := s.balanced()
			if end < 0 {
				break
			}
			if bothWays(t, s.buf[s.doc:end]) {
				lifted++
			}
			s.pos = end
		}
	}
	if lifted < 10 {
		t.Errorf("only %d documents had distributions to lift", lifted)
	}
}

func TestLift(t *testing.T) {
	cases := []struct {
		name, bins string
		lifted     bool
	}{
		{"as fio prints it", "{\n  \"2416\" : 1,\n  \"2512\" : 17\n}", true},
		{"one", `{"7":1}`, true},
		{"none", "{ }", true},
		{"compact", `{"7":1,"8":2,"9":3}`, true},
		{"tabs and carriage returns", "{\r\n\t\"7\"\t:\t1 ,\r\n\t\"8\"\t:\t2\r\n}", true},
		{"a count of zero", `{"7":0,"8":2,"9":0}`, true},
		{"not in order, and twice", `{"9":1,"7":2,"9":3}`, true},
		{"fourteen digits", `{"99999999999999":99999999999999}`, true},
		{"fifteen digits", `{"999999999999999":1}`, false},
		{"beyond any number", `{"9":99999999999999999999999}`, false},
		{"spacing that varies", `{"7":1, "8":2,"9":3}`, false},
		{"fio 2", `{"FIO_IO_U_PLAT_BITS":6,"FIO_IO_U_PLAT_VAL":64,"130":2}`, false},
		{"a key that is no number", `{"7":1,"x":2}`, false},
		{"a key with a space", `{"7 ":1}`, false},
		{"an empty key", `{"":1}`, false},
		{"leading zeros", `{"007":1}`, false},
		{"a count with leading zeros", `{"7":01}`, false},
		{"a fraction", `{"7":1.5}`, false},
		{"negative", `{"7":-1}`, false},
		{"a string", `{"7":"1"}`, false},
		{"null", `null`, false},
		{"a list", `[0]`, false},
		{"a comma too many", `{"7":1,}`, false},
		{"cut off", `{"7":1`, false},
		{"cut off behind a comma", `{"7":1,`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// Keys that look like it, in places that are not read, are lifted too and must do no harm.
			doc := `{"fio version":"fio-3.33","jobs":[{"job options":{"a\"bins" : ` + c.bins + `,"nbins":"1"},` +
				`"iodepth_level":{"bins":` + c.bins + `},"read":{"iops":1,"clat_ns":{"max":9,"N":3,"bins" : ` + c.bins +
				`}}}]}`
			if lifted := bothWays(t, []byte(doc)); lifted != c.lifted {
				t.Errorf("lifted is %t", lifted)
			}
			// A value that looks like the key makes the decoder read everything in the plain way.
			named := strings.Replace(doc, `"iodepth_level"`, `"jobname":"a\"bins","iodepth_level"`, 1)
			if bothWays(t, []byte(named)) {
				t.Error("a job's name was taken for a distribution")
			}
		})
	}
}

// The error of a damaged document refers to its original bytes, not to the bytes without the distributions.
func TestLiftKeepsErrorsTrue(t *testing.T) {
	doc := "{\n\"fio version\" : \"fio-3.33\", \"jobs\" : [{\"read\" : {\"clat_ns\" : {\"bins\" : {\"7\" : 1}, " +
		"\"max\" : x}}}]\n}"
	_, err := ParseBytes([]byte(doc))
	at := strings.LastIndex(doc, "x")
	if err == nil || !strings.Contains(err.Error(),
		"damaged at byte "+strconv.Itoa(at)+", in jobs[0].read.clat_ns.max") {
		t.Errorf("byte %d: %v", at, err)
	}
}

// The histograms of a Parser's documents belong to the Parser, the histograms of their groups to the caller.
func TestParserLeavesGroupsAlone(t *testing.T) {
	var p Parser
	doc := func(bins string) []Group {
		docs, err := p.ParseBytes(
			[]byte("{\"fio version\":\"fio-3.33\",\"jobs\":[{\"jobname\":\"a\",\"read\":{\"iops\":1,\"clat_ns\":" +
				"{\"max\":9,\"N\":3,\"bins\":" + bins + "}}}]\n}"))
		if err != nil || len(docs) != 1 {
			t.Fatal(len(docs), err)
		}
		return docs[0].Groups()
	}
	first := doc(`{"7":1,"8":2}`)[0].Latency["read"]
	doc(`{"1":3,"2":4}`)
	if !reflect.DeepEqual(first.Nanoseconds, []int64{7, 8}) || !reflect.DeepEqual(first.Counts, []uint64{1, 2}) {
		t.Errorf("the first document's bins became %v", first)
	}
}

func FuzzLift(f *testing.F) {
	for _, file := range fixtures(f, "json") {
		data := read(f, file)
		f.Add(data[:min(len(data), 8000)])
	}
	f.Add([]byte(`{"fio version":"fio-3.33","jobs":[{"read":{"iops":1,"clat_ns":{"max":9,"bins" : {"7" : 1,"8" : 2}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { bothWays(t, data) })
}
