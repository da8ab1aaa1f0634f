package ingest

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// benchFio reads the tree that bench-fio (of fio-plot) writes. Three files of one:
//
//	sdb/4k/randread-16-4.json
//	sdb/randrw75/4k/randrw-1-1.json
//	sdb/4k/run-2/randread-16-4.json
//
// Each is a document of fio; the path has what old fio versions omit: device, block size, mode, depth and jobs.
func benchFio() Importer {
	tree := regexp.MustCompile(
		`(?:^|/)([^/]+)/(?:(?:randrw|readwrite|rw)(\d+)/)?(\d+[kKmM]?(?:i?[bB])?)/(?:run-\d+/)?` +
			`(read|write|rw|readwrite|randread|randwrite|randrw)-(\d+)-(\d+)\.json$`)
	return Importer{
		Name:  "bench-fio",
		Title: "bench-fio trees (DEVICE/BLOCKSIZE/MODE-IODEPTH-NUMJOBS.json)",
		Units: "as in the JSON of fio that they have",
		Sniff: func(name string, head []byte) bool {
			// Few names have two hyphens, and counting them takes a hundredth of the expression's time.
			return strings.Count(path.Base(name), "-") >= 2 && tree.MatchString(name) &&
				bytes.Contains(head, []byte(`"fio version"`))
		},
		read: func(f file, d *runBuilder) error {
			m := tree.FindStringSubmatch(f.path)
			printed := map[string]string{"rw": m[4], "bs": m[3], "iodepth": m[5], "numjobs": m[6]}
			if m[2] != "" {
				printed["rwmixread"] = m[2]
			}
			return readFio(f, d, func(into *measurement) {
				into.facts = append(into.facts, lab.Fact{Key: "import.tool", Value: "bench-fio",
					Source: path.Dir(f.name)})
				into.params = mergeUnder(into.params, printed)
				if into.place.Kind != lab.Device {
					// The tree has only the last part of the name of a device, or of a directory.
					into.levels = map[string]string{"tree:device": m[1]}
				}
			})
		},
	}
}

// mergeUnder adds to params the entries of further that it lacks.
func mergeUnder(params, further map[string]string) map[string]string {
	if params == nil {
		params = map[string]string{}
	}
	for name, v := range further {
		if _, ok := params[name]; !ok {
			params[name] = v
		}
	}
	return params
}
