package fio

import (
	"bytes"
	"testing"
)

// The input that an import typically reads: json+ documents of about 40 KB. For the comparison that the docs quote,
// pass the same file to python3 -m timeit -s 'import json; b=open(FILE,"rb").read()' 'json.loads(b)'.
func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"fio-3.33-jsonplus-3jobs-group", "fio-3.33-jsonplus-3jobs-nogroup",
		"fio-3.42-randrw-fsync"} {
		data := read(b, "testdata/json/"+name+".json")
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseBytes(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkImport parses 100 documents and computes every value, like an import.
func BenchmarkImport(b *testing.B) {
	data := bytes.Repeat(read(b, "testdata/json/fio-3.33-jsonplus-3jobs-group.json"), 100)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		documents, err := ParseBytes(data)
		for _, d := range documents {
			n += len(d.Groups())
		}
		if err != nil || n != 100 {
			b.Fatal(n, err)
		}
	}
}
