package ingest

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-faster/jx"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unpack"
)

const (
	cbReportName = "clusterbuster-report.json"
	cbIndexName  = "clusterbuster-ci-results.json"
)

// clusterBuster reads the reports of ClusterBuster's fio workload: the raw report with a document of fio from every
// worker, or its json-summary, which has only sums. A CI bundle is a directory of directories with a report each; its
// index lists what failed. A raw report looks like this:
//
//	{"Results": {"worker_results": [{"namespace": "cb-0", "pod": "cb-0-client-0-0", "results": {
//	  "0001-randread-4096-1-1-0-1-libaio": {"job_elapsed_time": 10.2, "job_results": {"fio version": "fio-3.35", …
//	"metadata": {"kind": "clusterbusterResults", "job_name": "1P", "workload": "fio", "runtime_class": "kata", …
func clusterBuster() Importer {
	return Importer{
		Name:  "clusterbuster",
		Title: "ClusterBuster reports (" + cbReportName + "[.gz], json-summary, CI bundles) of the fio workload",
		Units: "kbytes are KiB and runtimes ms, as in the JSON of fio that it has",
		Sniff: func(name string, head []byte) bool {
			if base := unpack.Name(path.Base(name)); base == cbReportName || base == cbIndexName {
				return true
			}
			return headHas(head, `"clusterbusterResults"`) || headHas(head, `"worker_results"`) ||
				headHas(head, `"total_instances"`, `"total_pods"`)
		},
		read: func(f file, d *runBuilder) error {
			if path.Base(f.path) == cbIndexName {
				return readCBIndex(f, d)
			}
			return readCB(f, d)
		},
	}
}

// readCBIndex reads from a bundle's index what did not succeed.
func readCBIndex(f file, d *runBuilder) error {
	var result string
	var failed []string
	err := jx.DecodeBytes(f.data).Obj(func(d *jx.Decoder, key string) error {
		switch key {
		case "result":
			return text(d, &result)
		case "failed":
			return words(d, &failed)
		}
		return d.Skip()
	})
	if err != nil {
		return jsonFault(f.data, err)
	}
	if result != "" && result != "PASS" || len(failed) > 0 {
		d.warn(lab.Warning{
			Code: "import-incomplete",
			Text: fmt.Sprintf("ClusterBuster's own verdict on %s is %q; failed, and missing here: %s",
				f.name, result, strings.Join(failed, ", ")),
		})
	}
	return nil
}

func readCB(f file, d *runBuilder) error {
	r, err := parseCB(f.data)
	switch {
	case err != nil:
		return err
	case r.meta.kind != "" && r.meta.kind != "clusterbusterResults":
		return fmt.Errorf("expected \"kind\": \"clusterbusterResults\" in its metadata, found %s", excerpt(r.meta.kind))
	case r.meta.workload != "" && r.meta.workload != "fio":
		return fmt.Errorf("expected a report of ClusterBuster's workload fio, found one of its workload %s",
			excerpt(r.meta.workload))
	case len(r.workers) > 0:
		return r.addWorkers(f, d)
	case r.summary != nil:
		return r.addSummary(f, d)
	}
	return fmt.Errorf("expected results of workers or a summary; the report's status is %s", excerpt(r.status))
}

// base returns the fields that all measurements of a report share.
func (r *cbReport) base(f file, workers int) measurement {
	m := measurement{host: r.meta.host, engine: "fio", levels: map[string]string{}}
	class := r.meta.runtimeClass
	if class == "" {
		class = r.meta.defaultRuntimeClass
	}
	if class == "" {
		// <workload>-<runc|kata|vm>-<NNNN>-<jobname>, the names of a CI bundle's directories
		directory := regexp.MustCompile(`^[a-z0-9_]+-(runc|kata|vm)-\d+-`)
		if m := directory.FindStringSubmatch(path.Base(path.Dir(f.path))); m != nil {
			class = m[1]
		}
	}
	if class != "" {
		m.levels["kube:runtime_class"] = class
	}
	command := r.meta.expanded
	if len(command) == 0 {
		command = r.meta.command
	}
	if n := ioThreads(command); n != "" {
		m.levels["guest:iothreads"] = n
	} else if class == "vm" && len(command) > 0 {
		m.levels["guest:iothreads"] = "0"
	}
	// One worker and sixteen are different loads, even with the same fio options.
	m.levels["kube:workers"], m.workers = strconv.Itoa(workers), workers
	for _, fact := range []lab.Fact{
		{Key: "import.tool", Value: "ClusterBuster"},
		{Key: "kubernetes.version", Value: r.meta.server},
		{Key: "openshift.version", Value: r.meta.openshift},
		{Key: "kata.version", Value: r.meta.kata},
		{Key: "kubernetes.volumes", Value: r.meta.volumes},
	} {
		if fact.Value != "" {
			fact.Source = f.name
			m.facts = append(m.facts, fact)
		}
	}
	return m
}

// params returns the parameters of a key, by fio's names; ClusterBuster's names differ in two.
func (r *cbReport) params(key string) map[string]string {
	p := map[string]string{}
	for name, v := range r.meta.jobs[key] {
		switch name {
		case "pattern":
			name = "rw"
		case "blocksize":
			name = "bs"
		}
		if v != "" {
			p[name] = v
		}
	}
	return p
}

// job returns the pattern of a key. The rest of the key are parameters, and the number in front changes with the
// matrix.
func job(key string) string {
	if m := regexp.MustCompile(`^\d{4}-([a-z]+)-\d+-\d+-`).FindStringSubmatch(key); m != nil {
		return m[1]
	}
	return key
}

// addWorkers adds one repetition for each key: ClusterBuster starts all workers of a key together, so their results are
// added up like those of fio's jobs in one group.
func (r *cbReport) addWorkers(f file, d *runBuilder) error {
	var keys []string
	for _, w := range r.workers {
		for _, res := range w.results {
			if !slices.Contains(keys, res.key) {
				keys = append(keys, res.key)
			}
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("none of its %d workers has results; the report's status is %s", len(r.workers),
			excerpt(r.status))
	}
	base := r.base(f, len(r.workers))
	for _, key := range keys {
		together, spans, err := r.together(key)
		if err != nil {
			return err
		}
		groups := together.Groups()
		for _, g := range groups {
			m := fromGroup(f, g, together)
			m.host, m.place, m.levels = base.host, lab.Place{}, base.levels
			m.facts = append(m.facts, base.facts...)
			m.params = mergeUnder(m.params, r.params(key))
			m.job = job(key)
			if len(groups) > 1 {
				m.job += "-" + g.Name
			}
			if w, ok := apart(spans, len(r.workers)); ok {
				m.repetition.Warnings = append(m.repetition.Warnings, w)
			}
			if err := d.add(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// span is when a worker's fio did I/O.
type span struct{ start, end time.Time }

// together joins the documents of all workers for one key into one, as if a fio client had collected them.
func (r *cbReport) together(key string) (fio.Document, []span, error) {
	var all fio.Document
	var spans []span
	for i, w := range r.workers {
		for _, res := range w.results {
			if res.key != key {
				continue
			}
			docs, err := fio.ParseBytes(res.fio)
			if err == nil && len(docs) == 0 {
				err = errors.New("expected a document of fio, found none")
			}
			if err != nil {
				return all, nil, fmt.Errorf("worker %d (%s), %s: %w", i+1, w.name, key, err)
			}
			doc := docs[len(docs)-1]
			longest := 0.0
			for _, j := range doc.Jobs {
				j.Host = w.name
				longest = max(longest, j.Seconds)
				all.Jobs = append(all.Jobs, j)
			}
			if !doc.Time.IsZero() && longest > 0 {
				spans = append(spans, span{doc.Time.Add(-time.Duration(longest * float64(time.Second))), doc.Time})
			}
			all.Version, all.Global, all.Client = doc.Version, doc.Global, true
			if doc.Time.After(all.Time) {
				all.Time = doc.Time
			}
		}
	}
	return all, spans, nil
}

// apart warns if workers did not run at the same time, or not all of them: their rates must not be added then.
func apart(spans []span, workers int) (lab.Warning, bool) {
	if len(spans) < workers || workers < 2 {
		return lab.Warning{}, false
	}
	first, last := spans[0], spans[0]
	common := spans[0]
	for _, s := range spans[1:] {
		if s.start.Before(first.start) {
			first = s
		}
		if s.end.After(last.end) {
			last = s
		}
		if s.start.After(common.start) {
			common.start = s.start
		}
		if s.end.Before(common.end) {
			common.end = s.end
		}
	}
	all, both := last.end.Sub(first.start), common.end.Sub(common.start)
	// fio gives its time in milliseconds, but a document's time is when fio printed it, some tenths of a second later.
	if share := float64(both) / float64(all); share < 0.8 {
		return lab.Warning{
			Code: "workers-apart",
			Text: fmt.Sprintf("the %d workers all ran together for %.0f%% of the %.1f s in which any ran; "+
				"adding their rates overstates what the storage did", workers, 100*max(share, 0), all.Seconds()),
			Taints: []string{"*"},
		}, true
	}
	return lab.Warning{}, false
}

// addSummary adds the values of each key in a json-summary: sums, and means of means.
func (r *cbReport) addSummary(f file, d *runBuilder) error {
	if len(r.summary.results) == 0 {
		return fmt.Errorf("its summary has no results; the report's status is %s", excerpt(r.status))
	}
	base := r.base(f, r.summary.instances)
	base.ended = r.meta.ended
	for _, res := range r.summary.results {
		m := base
		m.job, m.params = job(res.key), r.params(res.key)
		values, err := cbSums(res.fio)
		if err != nil {
			return fmt.Errorf("%s: %w", res.key, err)
		}
		m.repetition.Values = values
		if err := d.add(m); err != nil {
			return err
		}
	}
	d.warn(lab.Warning{
		Code: "import-summary",
		Text: "a summary of ClusterBuster has no percentiles, and its latencies are means over workers that count each " +
			"worker alike; import the raw report (" + cbReportName + ") instead",
		Taints: []string{"read.latency.*", "write.latency.*", "trim.latency.*"},
	})
	return nil
}

// cbSums reads the sums of one key. Each quantity q has the fields q_counter (how many were added), avg_q and max_q.
// max itself is summed, so the largest value is max_max.
func cbSums(raw []byte) (map[string]float64, error) {
	values := map[string]float64{}
	err := object(jx.DecodeBytes(raw), func(d *jx.Decoder, direction string) error {
		if direction == "jobs" { // raw nesting, which some versions keep
			return object(d, func(d *jx.Decoder, direction string) error { return cbDirection(d, direction, values) })
		}
		return cbDirection(d, direction, values)
	})
	return values, err
}

func cbDirection(d *jx.Decoder, direction string, values map[string]float64) error {
	if !slices.Contains(lab.Directions(), direction) {
		return d.Skip()
	}
	sums := map[string]float64{}
	latency := map[string]float64{}
	collect := func(to map[string]float64) func(*jx.Decoder, string) error {
		return func(d *jx.Decoder, key string) error {
			if d.Next() != jx.Number {
				return d.Skip()
			}
			v, err := d.Float64()
			to[key] = v
			return err
		}
	}
	err := object(d, func(d *jx.Decoder, key string) error {
		if key == "lat_ns" {
			return object(d, collect(latency))
		}
		return collect(sums)(d, key)
	})
	if err != nil || sums["total_ios"] == 0 {
		return err
	}
	// Not io_rate and data_rate: they divide by numjobs, which is wrong where fio reported its jobs as a group.
	if n := sums["runtime_counter"]; n > 0 && sums["runtime"] > 0 {
		seconds := sums["runtime"] / n / 1000
		values[lab.IOPS(direction)] = sums["total_ios"] / seconds
		values[lab.Bandwidth(direction)] = sums["io_kbytes"] * 1024 / seconds
	} else if rate, ok := sums["io_rate"]; ok {
		values[lab.IOPS(direction)] = rate
		if rate, ok := sums["data_rate"]; ok {
			values[lab.Bandwidth(direction)] = rate
		}
	}
	if mean, ok := latency["avg_mean"]; ok && mean > 0 {
		values[lab.Latency(direction, "mean")] = mean / 1e9
	} else if n := latency["mean_counter"]; n > 0 && latency["mean"] > 0 {
		values[lab.Latency(direction, "mean")] = latency["mean"] / n / 1e9
	}
	if largest, ok := latency["max_max"]; ok && largest > 0 {
		values[lab.Latency(direction, "max")] = largest / 1e9
	}
	return nil
}
