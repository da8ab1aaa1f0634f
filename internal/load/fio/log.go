package fio

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// LogSample is one line of a fio log: the mean over the interval that ends at Time.
type LogSample struct {
	// Time since the job began to count; its ramp is not included. With log_unix_epoch it is the time since 1970.
	Time time.Duration
	// Value as fio writes it: I/Os a second in an iops log, KiB/s in a bw log, nanoseconds in the latency logs of fio 3
	// (microseconds in those of fio 2).
	Value     float64
	Direction string
}

// ParseLog parses a log of fio. The columns are time in ms, value, direction (0 read, 1 write, 2 trim), block size and,
// in newer versions, offset and more; for averages the latter are 0.
//
//	1000, 8004, 0, 0, 0
//	1000, 4004, 1, 0, 0
//	2001, 8008, 0, 0, 0
//
// With per_job_logs=0 fio writes the samples of one job after those of the other, so time can go back. An incomplete
// last line was cut off and is ignored. Source: fio's HOWTO, "Log File Formats", and logs of 3.33 and 3.42.
func ParseLog(r io.Reader) ([]LogSample, error) {
	var samples []LogSample
	in := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("can't read fio's log after line %d: %w", number-1, err)
		}
		text := strings.TrimSpace(line)
		if text != "" {
			sample, bad := logSample(text)
			switch {
			case bad == nil:
				samples = append(samples, sample)
			case err == io.EOF:
				return samples, nil
			default:
				return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("line %d of fio's log can't be read", number),
					Err: bad}
			}
		}
		if err == io.EOF {
			return samples, nil
		}
	}
}

func logSample(line string) (LogSample, error) {
	fields := strings.Split(line, ",")
	for i, f := range fields {
		fields[i] = strings.TrimSpace(f)
	}
	if len(fields) < 4 {
		return LogSample{}, fmt.Errorf("%q has %d columns, not the 4 or more of a log", shorten(line), len(fields))
	}
	ms, err := strconv.ParseUint(fields[0], 10, 42) // since 1970, with log_unix_epoch
	if err != nil {
		return LogSample{}, fmt.Errorf("%q is not a time in milliseconds", shorten(fields[0]))
	}
	value, err := strconv.ParseFloat(fields[1], 64)
	if err != nil || value < 0 || math.IsInf(value, 0) || math.IsNaN(value) {
		return LogSample{}, fmt.Errorf("%q is not a value", shorten(fields[1]))
	}
	s := LogSample{Time: time.Duration(ms) * time.Millisecond, Value: value}
	switch d := fields[2]; d {
	case "0":
		s.Direction = lab.Read
	case "1":
		s.Direction = lab.Write
	case "2":
		s.Direction = lab.Trim
	default:
		return LogSample{}, fmt.Errorf("%q is not a direction (0, 1 or 2)", shorten(d))
	}
	return s, nil
}

func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// maxIntervals limits a series: eleven days of seconds.
const maxIntervals = 1_000_000

// Series adds up the samples of all jobs by interval, one series per direction, in the order of lab.Directions.
// quantity is "iops" or "bandwidth"; a bw log's KiB/s are converted to bytes a second.
//
// fio writes no sample for an interval in which a job did nothing, so a gap counts as zero, and a stall is visible. It
// does write one for a part of an interval at the end, often for one job only. Last intervals that fewer jobs reached
// than most others are omitted, because their sum would look like a drop.
func Series(samples []LogSample, quantity string, interval time.Duration) []lab.Series {
	scale := 1.0
	if quantity == "bandwidth" {
		scale = 1024
	}
	var all []lab.Series
	for _, direction := range lab.Directions() {
		var values []float64
		var jobs []int
		for _, s := range samples {
			// A sample is due at the end of its interval and comes a few ms late or early.
			i := int(math.Round(float64(s.Time)/float64(interval))) - 1
			if s.Direction != direction || i < 0 || i >= maxIntervals {
				continue
			}
			for len(values) <= i {
				values, jobs = append(values, 0), append(jobs, 0)
			}
			values[i] += s.Value * scale
			jobs[i]++
		}
		most := 0
		for _, n := range jobs {
			most = max(most, n)
		}
		for n := len(jobs); n > 0 && jobs[n-1] < most; n-- {
			values, jobs = values[:n-1], jobs[:n-1]
		}
		if len(values) > 0 {
			all = append(all, lab.Series{Metric: direction + "." + quantity, Interval: interval.Seconds(),
				Values: values})
		}
	}
	return all
}
