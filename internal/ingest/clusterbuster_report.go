package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-faster/jx"
)

// cbReport is the part of a ClusterBuster report that headroom uses. Byte slices refer to parts of the file.
type cbReport struct {
	status string
	meta   cbMetadata
	// workers in the order of the file; nil in a summary.
	workers []cbWorker
	// summary has the sums over all workers; nil in a raw report.
	summary *cbSummary
}

type cbMetadata struct {
	kind, workload, host string
	// runtimeClass or defaultRuntimeClass is set, depending on the version.
	runtimeClass, defaultRuntimeClass string
	server, openshift, kata           string
	// volumes as given on the command line, joined.
	volumes string
	// command as typed; expanded also has all defaults and job files.
	command, expanded []string
	ended             time.Time
	// jobs are the parameters, by key and by ClusterBuster's own names.
	jobs map[string]map[string]string
}

type cbWorker struct {
	name string // namespace/pod/container/process
	// start and end of the worker's I/O, in seconds on a clock that ClusterBuster adjusts to its own.
	start, end float64
	results    []cbResult
}

type cbResult struct {
	key string
	fio jx.Raw
}

type cbSummary struct {
	instances int
	results   []cbResult
}

// parseCB reads a report in one pass. It only locates the fio documents in it, and does not parse them.
func parseCB(data []byte) (cbReport, error) {
	var r cbReport
	d := jx.DecodeBytes(data)
	err := d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		switch string(key) {
		case "Status":
			return text(d, &r.status)
		case "metadata":
			return r.meta.read(d)
		case "Results":
			return object(d, func(d *jx.Decoder, key string) error {
				if key != "worker_results" {
					return d.Skip()
				}
				return r.readWorkers(d)
			})
		case "summary":
			r.summary = &cbSummary{}
			return r.summary.read(d)
		}
		return d.Skip()
	})
	if err != nil {
		return r, jsonFault(data, err)
	}
	return r, nil
}

func (r *cbReport) readWorkers(d *jx.Decoder) error {
	if d.Next() != jx.Array {
		return d.Skip()
	}
	return d.Arr(func(d *jx.Decoder) error {
		var w cbWorker
		var names [4]string
		err := object(d, func(d *jx.Decoder, key string) error {
			switch key {
			case "namespace":
				return text(d, &names[0])
			case "pod":
				return text(d, &names[1])
			case "container":
				return text(d, &names[2])
			case "process", "process_id":
				return text(d, &names[3])
			case "data_start_time":
				return number(d, &w.start)
			case "data_end_time":
				return number(d, &w.end)
			case "results":
				return object(d, func(d *jx.Decoder, key string) error { return readJobResults(d, key, &w.results) })
			}
			return d.Skip()
		})
		w.name = strings.Join(names[:], "/")
		r.workers = append(r.workers, w)
		return err
	})
}

// readJobResults finds job_results in {KEY: {job_results: …}}.
func readJobResults(d *jx.Decoder, key string, to *[]cbResult) error {
	return object(d, func(d *jx.Decoder, field string) error {
		if field != "job_results" {
			return d.Skip()
		}
		raw, err := d.Raw()
		*to = append(*to, cbResult{key: key, fio: raw})
		return err
	})
}

func (s *cbSummary) read(d *jx.Decoder) error {
	return object(d, func(d *jx.Decoder, key string) error {
		switch key {
		case "total_instances":
			var n float64
			err := number(d, &n)
			s.instances = int(n)
			return err
		case "results":
			return object(d, func(d *jx.Decoder, key string) error { return readJobResults(d, key, &s.results) })
		}
		return d.Skip()
	})
}

func (m *cbMetadata) read(d *jx.Decoder) error {
	return object(d, func(d *jx.Decoder, key string) error {
		switch key {
		case "kind":
			return text(d, &m.kind)
		case "workload":
			return text(d, &m.workload)
		case "runtime_class":
			return text(d, &m.runtimeClass)
		case "run_host", "runHost": // reports before 2023 have the second
			return text(d, &m.host)
		case "kata_version":
			return text(d, &m.kata)
		case "command_line":
			return words(d, &m.command)
		case "expanded_command_line":
			return words(d, &m.expanded)
		case "controller_end_timestamp":
			return epoch(d, &m.ended)
		case "kubernetes_version":
			return object(d, m.readVersions)
		case "workload_metadata":
			return object(d, func(d *jx.Decoder, key string) error {
				if key != "jobs" {
					return d.Skip()
				}
				m.jobs = map[string]map[string]string{}
				return object(d, func(d *jx.Decoder, key string) error {
					m.jobs[key] = map[string]string{}
					return object(d, func(d *jx.Decoder, option string) error {
						var v string
						err := text(d, &v)
						m.jobs[key][option] = v
						return err
					})
				})
			})
		case "options":
			return object(d, m.readOptions)
		}
		return d.Skip()
	})
}

// readVersions reads "serverVersion": "v1.27.6" or {"gitVersion": "v1.27.6", …}, depending on the version of kubectl.
func (m *cbMetadata) readVersions(d *jx.Decoder, key string) error {
	switch key {
	case "serverVersion":
		if d.Next() != jx.Object {
			return text(d, &m.server)
		}
		return object(d, func(d *jx.Decoder, key string) error {
			if key == "gitVersion" {
				return text(d, &m.server)
			}
			return d.Skip()
		})
	case "openshiftVersion":
		return text(d, &m.openshift)
	}
	return d.Skip()
}

func (m *cbMetadata) readOptions(d *jx.Decoder, key string) error {
	switch key {
	case "runtime_classes":
		return object(d, func(d *jx.Decoder, key string) error {
			if key == "default" {
				return text(d, &m.defaultRuntimeClass)
			}
			return d.Skip()
		})
	case "volumes":
		var volumes []string
		err := words(d, &volumes)
		m.volumes = strings.Join(volumes, ", ")
		return err
	}
	return d.Skip()
}

// object reads an object. Other values in its place are skipped, because ClusterBuster prints null, false and empty
// arrays if it has no data.
func object(d *jx.Decoder, f func(d *jx.Decoder, key string) error) error {
	if d.Next() != jx.Object {
		return d.Skip()
	}
	return d.Obj(f)
}

// text reads a string, number or boolean as text; true is 1 as in fio's options. For anything else to is unchanged.
func text(d *jx.Decoder, to *string) error {
	switch d.Next() {
	case jx.String:
		s, err := d.Str()
		*to = s
		return err
	case jx.Number:
		n, err := d.Num()
		*to = n.String()
		return err
	case jx.Bool:
		b, err := d.Bool()
		*to = "0"
		if b {
			*to = "1"
		}
		return err
	}
	return d.Skip()
}

func number(d *jx.Decoder, to *float64) error {
	if d.Next() != jx.Number {
		return d.Skip()
	}
	v, err := d.Float64()
	*to = v
	return err
}

// epoch reads seconds since 1970; 0 means unknown.
func epoch(d *jx.Decoder, to *time.Time) error {
	var v float64
	err := number(d, &v)
	if v > 0 && v < 1e11 {
		*to = time.UnixMilli(int64(v * 1000)).UTC()
	}
	return err
}

// words reads a command line: an array of arguments, or one string in old reports.
func words(d *jx.Decoder, to *[]string) error {
	switch d.Next() {
	case jx.Array:
		return d.Arr(func(d *jx.Decoder) error {
			var s string
			err := text(d, &s)
			*to = append(*to, s)
			return err
		})
	case jx.String:
		s, err := d.Str()
		*to = strings.Fields(s)
		return err
	}
	return d.Skip()
}

// ioThreads returns the number of I/O threads of the virtual machines in a ClusterBuster command line:
// --vm-block-multiqueue=N, in any of the spellings that it accepts (hyphens, underscores, none, any prefix from
// vmblockmultiq). It is "" if the option is missing or 0, which is the baseline without I/O threads.
func ioThreads(command []string) string {
	n := ""
	for i, arg := range command {
		arg = strings.Trim(arg, `"',[]`)
		option, value, has := strings.Cut(arg, "=")
		option = strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(option))
		if !strings.HasPrefix(option, "vmblockmultiq") || !strings.HasPrefix("vmblockmultiqueue", option) {
			continue
		}
		if !has && i+1 < len(command) {
			value = strings.Trim(command[i+1], `"',[]`)
		}
		// The last one wins, as in ClusterBuster.
		if v, err := strconv.Atoi(value); err == nil && v > 0 {
			n = strconv.Itoa(v)
		} else if err == nil {
			n = ""
		}
	}
	return n
}

// jsonFault returns the line and column in which JSON is damaged; otherwise it returns err.
func jsonFault(data []byte, err error) error {
	var any json.RawMessage
	syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(data, &any))
	if !ok {
		return err
	}
	at := min(max(int(syntax.Offset)-1, 0), len(data))
	line := 1 + strings.Count(string(data[:at]), "\n")
	column := at - strings.LastIndexByte(string(data[:at]), '\n')
	return fmt.Errorf("line %d, column %d (byte %d): expected JSON, %s", line, column, at, syntax.Error())
}
