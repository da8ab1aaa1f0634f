package scripted

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// IO is the outcome of a fio load.
type IO struct {
	// Read, Write and Trim are operations a second of all its jobs together.
	Read, Write, Trim float64
	// Latency is the mean completion latency; 0 to derive it from the queue depth.
	Latency time.Duration
	// Duration is its time; 0 for the time in its parameters.
	Duration time.Duration
	// Errno makes it fail; it prints Says on standard error.
	Exit, Errno int
	Says        string
	// Seconds are the rates in each second, as a share of the mean; nil for a constant rate.
	Seconds []float64
	// Hidden is the share that does not reach the disk, as when a cache answers.
	Hidden float64
	// CPU is how many processors it keeps busy; 0 for a tenth of one.
	CPU float64
}

// Drive is a drive of 200,000 operations and 2 GB a second that answers in 80 µs.
func Drive(l *Load) IO {
	const most, bandwidth, each = 200_000, 2e9, 12_500 // of each operation in flight, one after the other
	depth, jobs, block := l.number("iodepth", 1), l.number("numjobs", 1), l.Block()
	rate := min(depth*jobs*float64(max(1, len(l.Jobs)))*each, most, bandwidth/block)
	rw := l.Params["rw"] + l.Params["readwrite"]
	switch {
	case strings.Contains(rw, "rw"):
		read := l.number("rwmixread", 50) / 100
		return IO{Read: rate * read, Write: rate * (1 - read)}
	case strings.Contains(rw, "write"):
		return IO{Write: rate}
	case strings.Contains(rw, "trim"):
		return IO{Trim: rate}
	}
	return IO{Read: rate}
}

// Block returns fio's block size, in bytes.
func (l *Load) Block() float64 {
	for _, name := range []string{"bs", "blocksize"} {
		if n := bytesOf(strings.Split(l.Params[name], ",")[0]); n > 0 {
			return n
		}
	}
	return 4096
}

func (l *Load) number(name string, otherwise float64) float64 {
	if v, err := strconv.ParseFloat(l.Params[name], 64); err == nil {
		return v
	}
	return otherwise
}

// bytesOf reads "4k", "1m", "1073741824"; 0 for anything else.
func bytesOf(text string) float64 {
	text = strings.TrimSuffix(strings.ToLower(text), "b")
	factor := 1.0
	for suffix, f := range map[string]float64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, factor = rest, f
			break
		}
	}
	v, _ := strconv.ParseFloat(text, 64)
	return v * factor
}

// durationOf reads "30", "30s", "500ms", "1m"; 0 for anything else.
func durationOf(text string) time.Duration {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(v * float64(time.Second))
	}
	d, _ := time.ParseDuration(text)
	return d
}

// noise returns a factor around 1 that is the same for the same load of the same machine in each run of a test. It does
// not depend on the IDs of runs, which differ.
func (m *Machine) noise(l *Load) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %s", m.Name, l.Number, l.Params["name"])
	return 1 + m.Noise*(2*float64(h.Sum64()%10_001)/10_000-1)
}

// fio returns the outcome of a fio load.
func (m *Machine) fio(l *Load) Result {
	model := m.Fio
	if model == nil {
		model = Drive
	}
	io := model(l)
	if now := time.Now(); l.begins.Before(now) { // a model may take time
		l.begins = now
	}
	noise := m.noise(l)
	io.Read, io.Write, io.Trim = io.Read*noise, io.Write*noise, io.Trim*noise
	runs, ramp := durationOf(l.Params["runtime"]), durationOf(l.Params["ramp_time"])
	rate := io.Read + io.Write + io.Trim
	if size := bytesOf(l.Params["size"]); runs == 0 && rate > 0 {
		if size == 0 {
			size = m.sizeOf(l)
		}
		runs = time.Duration(size / l.Block() / rate * float64(time.Second))
	}
	if io.Duration > 0 {
		runs, ramp = io.Duration, 0
	}
	m.make(l)
	r := Result{Duration: ramp + runs, Exit: io.Exit, Files: map[string]string{}}
	if io.Says != "" {
		r.Stderr = io.Says + "\n"
	}
	if io.Errno != 0 && r.Exit == 0 {
		r.Exit = 1
	}
	seen := 1 - io.Hidden
	if io.CPU == 0 {
		io.CPU = 0.1
	}
	if names := l.files(); len(names) > 0 {
		if n := m.mountOf(names[0]); n != nil {
			client, server := n.uses(io, l.Block())
			client[0].CPU = io.CPU
			r.Usage = client
			r.ended = n.Server.busy(server)
		}
	}
	disks := m.below(m.diskOf(l))
	for _, disk := range disks {
		if r.ended != nil {
			break
		}
		seen := seen / float64(len(disks))
		r.Usage = append(r.Usage, Use{Disk: disk, Reads: io.Read * seen, Writes: io.Write * seen,
			ReadBytes: io.Read * seen * l.Block(), WriteBytes: io.Write * seen * l.Block(),
			CPU: io.CPU / float64(len(disks))})
	}
	document := l.document(io, runs, l.begins.Add(ramp))
	if output := l.Params["output"]; output != "" {
		r.Files[output] = document
		if l.Params["eta"] == "always" {
			r.Early = l.status(io)
		}
	} else {
		r.Stdout = document
	}
	if prefix := l.Params["write_iops_log"]; prefix != "" {
		r.Files[prefix+"_iops.log"] = l.log(io, runs, ramp, 1)
		r.Files[prefix+"_bw.log"] = l.log(io, runs, ramp, l.Block()/1024)
	}
	return r
}

// status returns a status line of fio's, printed from the start rather than once a second.
func (l *Load) status(io IO) string {
	var bandwidth, iops []string
	for _, d := range io.directions() {
		if d.rate > 0 {
			bandwidth = append(bandwidth, fmt.Sprintf("%s=%.0fKiB/s", d.name[:1], d.rate*l.Block()/1024))
			iops = append(iops, fmt.Sprintf("%s=%.0f", d.name[:1], d.rate))
		}
	}
	return fmt.Sprintf("Jobs: 1 (f=1): [-.-%%][%s][%s IOPS]\r", strings.Join(bandwidth, ","), strings.Join(iops, ","))
}

// files returns the files that a load uses.
func (l *Load) files() []string {
	var names []string
	for _, j := range l.Jobs {
		if j["filename"] != "" {
			names = append(names, strings.ReplaceAll(j["filename"], `\:`, ":"))
		}
	}
	return names
}

// make creates the files that a load creates.
func (m *Machine) make(l *Load) {
	for _, name := range l.files() {
		if !strings.HasPrefix(name, "/dev/") && !m.Exists(name) && m.Exists(path.Dir(name)) {
			m.Sized(name, int64(bytesOf(l.Params["size"])))
		}
	}
}

func (m *Machine) sizeOf(l *Load) float64 {
	for _, name := range l.files() {
		if disk, ok := strings.CutPrefix(name, "/dev/"); ok {
			sectors, _ := strconv.ParseFloat(m.Get("/sys/class/block/"+disk+"/size"), 64)
			return 512 * sectors
		}
		if info, err := m.tree.stat(name, true); err == nil {
			return float64(info.Size())
		}
	}
	return 0
}

// diskOf returns the disk of a load's first file; empty if there is none.
func (m *Machine) diskOf(l *Load) string {
	name := "/"
	if names := l.files(); len(names) > 0 {
		name = names[0]
	} else if l.Params["directory"] != "" {
		name = l.Params["directory"]
	}
	if disk, ok := strings.CutPrefix(name, "/dev/"); ok {
		return disk
	}
	best, source := "", ""
	for line := range strings.Lines(m.Get("/proc/self/mountinfo")) {
		f := strings.Fields(line)
		if len(f) > 8 && (name == f[4] || strings.HasPrefix(name, strings.TrimSuffix(f[4], "/")+"/")) &&
			len(f[4]) >= len(best) {
			best, source = f[4], f[len(f)-2]
		}
	}
	disk, ok := strings.CutPrefix(source, "/dev/")
	switch {
	case !ok:
		return ""
	case m.Exists("/sys/class/block/" + disk + "/partition"):
		return strings.TrimRight(disk, "0123456789")
	}
	return disk
}

// busy makes the machine busy for another machine's load, until the returned function is called.
func (m *Machine) busy(uses []Use) (end func()) {
	p := &process{machine: m, load: &Load{Machine: m}, result: Result{Usage: uses}, began: time.Now()}
	m.mu.Lock()
	m.processes = append(m.processes, p)
	m.mu.Unlock()
	return func() {
		p.end(0, "")
		m.mu.Lock()
		m.processes = slices.DeleteFunc(m.processes, func(o *process) bool { return o == p })
		m.mu.Unlock()
	}
}

// below returns the disks below a block device: itself, or all disks of a volume, which have equal shares of its
// traffic.
func (m *Machine) below(device string) []string {
	var all []string
	for _, slave := range m.Names("/sys/class/block/" + device + "/slaves") {
		all = append(all, m.below(slave)...)
	}
	if len(all) == 0 {
		return []string{device}
	}
	return all
}

// directions returns a load's rates in fio's order.
func (io IO) directions() []struct {
	name string
	rate float64
} {
	return []struct {
		name string
		rate float64
	}{{"read", io.Read}, {"write", io.Write}, {"trim", io.Trim}}
}

// document returns the output of fio 3.42 with --output-format=json+.
func (l *Load) document(io IO, runs time.Duration, start time.Time) string {
	members := max(1, int(l.number("numjobs", 1)))
	entries, jobs := members, l.Jobs
	if v, ok := l.Params["group_reporting"]; ok && v != "0" {
		entries = 1
	} else if len(jobs) > 1 {
		entries = len(jobs)
	}
	latency := float64(io.Latency)
	if rate := io.Read + io.Write + io.Trim; latency == 0 && rate > 0 {
		latency = l.number("iodepth", 1) * float64(members*max(1, len(jobs))) / rate * 1e9
	}
	var list []any
	for i := range entries {
		of := l.Params
		if len(jobs) > 1 && i < len(jobs) {
			of = jobs[i]
		}
		j := map[string]any{"jobname": of["name"], "groupid": 0, "job_start": start.UnixMilli(), "error": io.Errno,
			"elapsed":     int(runs.Seconds()) + 1,
			"job options": of, "job_runtime": runs.Milliseconds() * int64(members/entries+members%entries),
			"usr_cpu": 2.0, "sys_cpu": 6.0, "ctx": 1000,
			"iodepth_level": map[string]float64{depthLevel(l.number("iodepth", 1)): 100}}
		for _, d := range io.directions() {
			j[d.name] = directionOf(d.rate/float64(entries), l.Block(), runs, latency)
		}
		if of["fsync"]+of["fdatasync"] != "" && io.Write > 0 {
			j["sync"] = map[string]any{"total_ios": 0,
				"lat_ns": latencyOf(int64(io.Write*runs.Seconds()/float64(entries)), latency)}
		}
		list = append(list, j)
	}
	document := map[string]any{"fio version": "fio-3.42", "timestamp": time.Now().Add(runs).Unix(),
		"timestamp_ms": time.Now().Add(runs).UnixMilli(), "jobs": list}
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // made of maps, numbers and strings
	}
	return string(text) + "\n"
}

// depthLevel returns the level of a depth in fio's statistics.
func depthLevel(depth float64) string {
	if depth >= 64 {
		return ">=64"
	}
	level := 1
	for float64(level*2) <= depth {
		level *= 2
	}
	return strconv.Itoa(level)
}

func directionOf(rate, block float64, runs time.Duration, latency float64) map[string]any {
	n := whole(rate * runs.Seconds())
	d := map[string]any{"io_bytes": n * int64(block), "io_kbytes": n * int64(block) / 1024,
		"bw_bytes": int64(rate * block), "bw": int64(rate * block / 1024), "iops": rate,
		"runtime": runs.Milliseconds(), "total_ios": n, "short_ios": 0, "drop_ios": 0}
	if n == 0 {
		d["runtime"] = 0
		return d
	}
	d["clat_ns"], d["lat_ns"] = latencyOf(n, latency), map[string]any{"min": latency * 0.8, "max": latency * 2,
		"mean": latency, "stddev": latency / 10, "N": n}
	return d
}

// latencyOf returns a distribution around a mean: half of it shorter by a fifth, a tenth longer by half.
func latencyOf(n int64, mean float64) map[string]any {
	bins := map[string]int64{fmt.Sprint(int64(mean * 0.8)): n / 2, fmt.Sprint(int64(mean * 1.5)): n / 10}
	bins[fmt.Sprint(int64(mean*1.125))] = n - n/2 - n/10
	return map[string]any{"min": int64(mean * 0.8), "max": int64(mean * 1.5), "mean": mean, "stddev": mean / 5,
		"N": n, "bins": bins}
}

// log returns a log of fio's with a line for each second and direction.
func (l *Load) log(io IO, runs, ramp time.Duration, factor float64) string {
	step := time.Second
	if ms := l.number("log_avg_msec", 0); ms > 0 {
		step = time.Duration(ms) * time.Millisecond
	}
	start := time.Duration(0)
	if l.Params["log_unix_epoch"] != "" {
		start = time.Duration(l.begins.Add(ramp).UnixNano())
	}
	var text strings.Builder
	for at := step; at <= runs; at += step {
		share := 1.0
		if second := int((at - step) / time.Second); second < len(io.Seconds) {
			share = io.Seconds[second]
		}
		for i, d := range io.directions() {
			if d.rate > 0 {
				fmt.Fprintf(&text, "%d, %d, %d, 0, 0\n", (start + at).Milliseconds(), int64(d.rate*factor*share), i)
			}
		}
	}
	return text.String()
}
