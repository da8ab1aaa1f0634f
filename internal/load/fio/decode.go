package fio

import (
	"time"

	"github.com/go-faster/jx"

	"github.com/headroom/headroom/internal/lab"
)

// decoder decodes the bytes of one document into a Document, and can then be used for the next.
//
// Every number that fio prints is parsed leniently: null, a string and other values count as absent. A value of another
// type where an object or a list is expected is an error with its place.
type decoder struct {
	d jx.Decoder
	// Bins of all distributions read so far, one after the other, and the number of bins to reserve space for when the
	// first distribution of a document comes.
	room   int
	ns     []int64
	counts []uint64
	// Distributions that were read before the rest of the document (see lift), and that rest.
	lifted []span
	rest   []byte
}

// span is the range of one distribution in the bins of a document: ns[from:to] and counts[from:to].
type span struct{ from, to int }

func (p *decoder) document(data []byte) (Document, error) {
	p.room = len(data) / binLine
	if rest := p.lift(data); rest != nil {
		if doc, err := p.decode(rest); err == nil {
			return doc, nil
		}
	}
	p.lifted = p.lifted[:0]
	return p.decode(data)
}

func (p *decoder) decode(data []byte) (Document, error) {
	var doc Document
	var hosts []hostOptions
	p.d.ResetBytes(data)
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "fio version":
			return p.text(&doc.Version)
		case "timestamp":
			var seconds float64
			err := p.number(&seconds)
			if doc.Time.IsZero() && seconds > 0 {
				doc.Time = time.Unix(int64(seconds), 0).UTC()
			}
			return err
		case "timestamp_ms":
			return p.millis(&doc.Time)
		case "global options":
			// With several servers, a list with one object each (fio ≥ 3.39).
			if p.d.Next() == jx.Array {
				return p.array(func() error {
					options, err := p.options()
					hosts = append(hosts, takeHost(options))
					return err
				})
			}
			var err error
			doc.Global, err = p.options()
			return err
		case "jobs":
			return p.array(func() error { return p.job(&doc) })
		case "client_stats":
			doc.Client = true
			return p.array(func() error { return p.job(&doc) })
		case "disk_util":
			return p.array(func() error { return p.disk(&doc) })
		}
		return p.d.Skip()
	})
	if err != nil {
		return Document{}, err
	}
	spread(&doc, hosts)
	for i := range doc.Jobs {
		normalize(&doc.Jobs[i], doc.Global, doc.Version)
	}
	return doc, nil
}

// normalize removes the differences between versions that can only be recognised after the whole document was read.
func normalize(job *Job, global map[string]string, version string) {
	// Up to 3.12, lat_percentiles=1 filed the percentiles of the total latency under clat.
	value, ok := job.Options["lat_percentiles"]
	if !ok {
		value, ok = global["lat_percentiles"]
	}
	if major, minor, known := Version(version); ok && value != "0" && known &&
		(major < 3 || major == 3 && minor <= 12) {
		for _, d := range job.Directions {
			if d.Completion == nil || d.Total == nil {
				continue
			}
			d.Total.Percentiles, d.Completion.Percentiles = d.Completion.Percentiles, nil
			d.Total.Histogram, d.Completion.Histogram = d.Completion.Histogram, lab.Histogram{}
		}
	}
}

func (p *decoder) job(doc *Document) error {
	job := Job{Directions: map[string]Direction{}}
	var host, port string
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "jobname":
			return p.text(&job.Name)
		case "groupid":
			return p.int(&job.Group)
		case "error":
			return p.int(&job.Error)
		case "job_start":
			return p.millis(&job.Start)
		case "job options":
			var err error
			job.Options, err = p.options()
			return err
		case "read":
			return p.direction(&job, lab.Read)
		case "write":
			return p.direction(&job, lab.Write)
		case "trim":
			return p.direction(&job, lab.Trim)
		case "mixed":
			return p.direction(&job, lab.Mixed)
		case "sync":
			return p.object(func(key []byte) error {
				switch string(key) {
				case "lat_ns":
					return p.latency(&job.SyncLatency, 1e9)
				}
				return p.d.Skip()
			})
		case "elapsed":
			return p.number(&job.Elapsed)
		case "job_runtime":
			return p.scaled(&job.RunSeconds, 1e3)
		case "usr_cpu":
			return p.scaled(&job.UserCPU, 100)
		case "sys_cpu":
			return p.scaled(&job.SystemCPU, 100)
		case "ctx":
			return p.int64(&job.ContextSwitches)
		case "iodepth_level":
			job.Depth = make(map[string]float64, 8)
			return p.object(func(key []byte) error {
				var share float64
				err := p.scaled(&share, 100)
				job.Depth[depthLevel(key)] = share
				return err
			})
		case "latency_target":
			return p.int64(&job.LatencyTarget)
		case "latency_depth":
			return p.int64(&job.LatencyDepth)
		case "total_err":
			return p.int64(&job.TotalErrors)
		case "first_error":
			return p.int(&job.FirstError)
		case "steadystate":
			return p.steadyState(&job)
		case "hostname":
			return p.text(&host)
		case "port":
			return p.word(&port)
		}
		return p.d.Skip()
	})
	if err != nil {
		return err
	}
	job.Host = hostPort(host, port)
	// The sum that a client makes of its servers' jobs would count everything twice.
	if doc.Client && job.Name == "All clients" && job.Options == nil {
		return nil
	}
	doc.Jobs = append(doc.Jobs, job)
	return nil
}

// depthLevel returns the key of a depth level. The levels that fio prints are constants, to avoid allocating each
// again.
func depthLevel(key []byte) string {
	switch string(key) {
	case "1":
		return "1"
	case "2":
		return "2"
	case "4":
		return "4"
	case "8":
		return "8"
	case "16":
		return "16"
	case "32":
		return "32"
	case ">=64":
		return ">=64"
	}
	return string(key)
}

func (p *decoder) direction(job *Job, name string) error {
	var d Direction
	var kbytes, bandwidthKiB float64
	hasKBytes := false
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "io_bytes":
			return p.int64(&d.Bytes)
		case "io_kbytes":
			hasKBytes = true
			return p.number(&kbytes)
		case "bw_bytes":
			return p.number(&d.Bandwidth)
		case "bw":
			return p.number(&bandwidthKiB)
		case "iops":
			return p.number(&d.IOPS)
		case "runtime":
			return p.scaled(&d.Seconds, 1e3)
		case "total_ios":
			return p.int64(&d.IOs)
		case "short_ios":
			return p.int64(&d.ShortIOs)
		case "drop_ios":
			return p.int64(&d.DropIOs)
		// fio 3 counts in nanoseconds, as the key states; fio 2 counted in microseconds.
		case "slat_ns":
			return p.latency(&d.Submission, 1e9)
		case "clat_ns":
			return p.latency(&d.Completion, 1e9)
		case "lat_ns":
			return p.latency(&d.Total, 1e9)
		case "slat":
			return p.latency(&d.Submission, 1e6)
		case "clat":
			return p.latency(&d.Completion, 1e6)
		case "lat":
			return p.latency(&d.Total, 1e6)
		}
		return p.d.Skip()
	})
	if err != nil {
		return err
	}
	// Before io_kbytes was added (2.21), io_bytes was in KiB (fio issue 378).
	if !hasKBytes {
		d.Bytes *= 1024
	}
	// bw_bytes was added in 3.2; before it the bytes are the more exact source, since bw is in whole KiB/s.
	if d.Bandwidth == 0 && d.Seconds > 0 {
		d.Bandwidth = float64(d.Bytes) / d.Seconds
	}
	if d.Bandwidth == 0 {
		d.Bandwidth = bandwidthKiB * 1024
	}
	// An I/O that failed is counted in total_ios too, but moves nothing.
	if d.Bytes > 0 || d.IOPS > 0 {
		job.Directions[name] = d
		job.Seconds = max(job.Seconds, d.Seconds)
	}
	return nil
}

func (p *decoder) steadyState(job *Job) error {
	var s SteadyState
	list := func(to *[]float64) func() error {
		return func() error {
			var v float64
			err := p.number(&v)
			*to = append(*to, v)
			return err
		}
	}
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "criterion":
			return p.text(&s.Criterion)
		case "attained":
			var attained int
			err := p.int(&attained)
			s.Attained = attained != 0
			return err
		case "max_deviation":
			return p.number(&s.Deviation)
		case "slope":
			return p.number(&s.Slope)
		case "data":
			return p.object(func(key []byte) error {
				switch string(key) {
				case "iops":
					return p.array(list(&s.IOPS))
				case "bw":
					return p.array(list(&s.Bandwidth))
				}
				return p.d.Skip()
			})
		}
		return p.d.Skip()
	})
	job.SteadyState = &s
	return err
}

func (p *decoder) disk(doc *Document) error {
	var k Disk
	var host, port string
	err := p.object(func(key []byte) error {
		switch string(key) {
		case "name":
			return p.text(&k.Name)
		case "read_ios":
			return p.int64(&k.ReadIOs)
		case "write_ios":
			return p.int64(&k.WriteIOs)
		case "read_sectors":
			return p.int64(&k.ReadSectors)
		case "write_sectors":
			return p.int64(&k.WriteSectors)
		case "read_ticks":
			return p.int64(&k.ReadTicks)
		case "write_ticks":
			return p.int64(&k.WriteTicks)
		case "in_queue":
			return p.int64(&k.InQueue)
		case "util":
			return p.scaled(&k.Utilisation, 100)
		case "hostname":
			return p.text(&host)
		case "port":
			return p.word(&port)
		}
		return p.d.Skip()
	})
	k.Host = hostPort(host, port)
	doc.Disks = append(doc.Disks, k)
	return err
}

// options reads an object of strings.
func (p *decoder) options() (map[string]string, error) {
	options := make(map[string]string, 16)
	err := p.object(func(key []byte) error {
		name := string(key) // the key's memory is invalid after the value has been read
		var value string
		err := p.word(&value)
		options[name] = value
		return err
	})
	return options, err
}

// hostOptions are the global options of one server.
type hostOptions struct {
	host    string
	options map[string]string
}

func takeHost(options map[string]string) hostOptions {
	h := hostOptions{host: hostPort(options["hostname"], options["port"]), options: options}
	delete(options, "hostname")
	delete(options, "port")
	return h
}

func hostPort(host, port string) string {
	if host == "" || port == "" {
		return host
	}
	return host + ":" + port
}

// spread distributes the global options of several servers: options that all share go to the document, the rest to the
// jobs of the server, below their own options.
func spread(doc *Document, hosts []hostOptions) {
	if len(hosts) == 0 {
		return
	}
	doc.Global = map[string]string{}
	for k, v := range hosts[0].options {
		shared := true
		for _, h := range hosts[1:] {
			other, ok := h.options[k]
			shared = shared && ok && other == v
		}
		if shared {
			doc.Global[k] = v
		}
	}
	for i := range doc.Jobs {
		job := &doc.Jobs[i]
		for _, h := range hosts {
			if h.host != job.Host {
				continue
			}
			for k, v := range h.options {
				if _, own := job.Options[k]; own || doc.Global[k] == v {
					continue
				}
				if job.Options == nil {
					job.Options = map[string]string{}
				}
				job.Options[k] = v
			}
		}
	}
}
