// Package sockperf drives sockperf, which sends requests and measures response times, and parses its output.
//
// All times are for the whole round trip. sockperf's "latency" is half of that, which would be the one-way time if both
// directions took equally long; that was not measured. Values that are not printed are absent, never zero. Source:
// client.cpp of sockperf.
package sockperf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Result is one test, as the client saw it.
type Result struct {
	// Total is the whole test; Valid is the part that counts: without the first 0.4 s and the last 0.05 s. Zero if the
	// test did not get that far.
	Total, Valid Part
	// Mean, Least and Most in seconds, and the printed percentiles, by their share; of all answers that count.
	Mean, Least, Most float64
	Percentiles       map[float64]float64
	// Dropped requests have no answer. Answers that came twice or after the answer of a later request are counted, and
	// then ignored by sockperf.
	Dropped, Duplicated, Disordered int64
	// OneWay is a test without answers.
	OneWay Part
	// Failed is the error of sockperf; empty if there is none. Its exit status is 0 even after an error.
	Failed string
}

// Part of a test.
type Part struct {
	Seconds float64
	// Sent requests, and Received answers.
	Sent, Received int64
}

// Parse parses the output of the client:
//
//	sockperf: [Valid Duration] RunTime=1.549 sec; SentMessages=28531; ReceivedMessages=28531
//	sockperf: ====> avg-rtt=54.262 (std-dev=692.804)
//	sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
//	sockperf: ---> percentile 99.000 = 1254.212
//
// From 3.8 on the parentheses contain more. If latencies were not measured with --full-rtt, the output has avg-latency
// (avg-lat in old versions), and all times are doubled here.
func Parse(text []byte) (Result, error) {
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(string(text), "")
	r := Result{Percentiles: map[float64]float64{}}
	if !isText().MatchString(plain) {
		return Result{}, errors.New("expected what sockperf prints, found neither its version nor a result")
	}
	scale := 1e-6
	if strings.Contains(plain, "avg-lat") {
		scale = 2e-6
	}
	r.Total, r.Valid = part(plain, "Total Run"), part(plain, "Valid Duration")
	r.Mean = scale * figure(plain, `====> avg-(?:rtt|lat(?:ency)?)=\s*`+decimal)
	r.Least = scale * figure(plain, `<MIN> observation =\s*`+decimal)
	r.Most = scale * figure(plain, `<MAX> observation =\s*`+decimal)
	for _, one := range regexp.MustCompile(`---> percentile\s+`+decimal+` =\s*`+decimal).FindAllStringSubmatch(plain,
		-1) {
		r.Percentiles[parsed(one[1])] = scale * parsed(one[2])
	}
	r.Dropped = int64(figure(plain, `# dropped messages = (\d+)`))
	r.Duplicated = int64(figure(plain, `# duplicated messages = (\d+)`))
	r.Disordered = int64(figure(plain, `# out-of-order messages = (\d+)`))
	if one := regexp.MustCompile(`Total of (\d+) messages sent in ` + decimal + ` sec`).FindStringSubmatch(
		plain); one != nil {
		r.OneWay = Part{Seconds: parsed(one[2]), Sent: int64(parsed(one[1]))}
	}
	if r.Failed, _ = ParseError(text); r.Failed == "" && r.Valid.Seconds <= 0 && r.OneWay.Seconds <= 0 {
		r.Failed = "it ended before the test did"
	}
	return r, nil
}

// ParseError returns the error that a client or a server printed:
//
//	sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)
//	sockperf: No messages were received from the server. Is the server down?
//	sockperf: No valid observations found. Try tune parameters: --time/--number-of-packets/--mps/--reply-every
func ParseError(text []byte) (string, error) {
	for _, form := range []string{`ERROR:\s*(?:\[fd=\d+\] )?([^\n]*(?:\n \(errno[^\n]*)?)`,
		`(No messages were received[^\n]*)`, `(No valid observations[^\n]*)`, `(Test end before test start[^\n]*)`} {
		if found := regexp.MustCompile(form).FindStringSubmatch(string(text)); found != nil {
			return strings.TrimSpace(strings.ReplaceAll(found[1], "\n", "")), nil
		}
	}
	return "", errors.New("it says nothing of an error")
}

const decimal = `(\d+(?:\.\d+)?)`

// figure returns the number in the only group of an expression; 0 if it does not match.
func figure(text, expression string) float64 {
	found := regexp.MustCompile(expression).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	return parsed(found[1])
}

func parsed(digits string) float64 {
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil { // more digits than a number can have
		return 0
	}
	return v
}

// part returns a part of a test by its name. Only the line of the whole test has the warm-up in between.
func part(text, name string) Part {
	found := regexp.MustCompile(`\[` + name + `\] RunTime=` + decimal +
		` sec;.*? SentMessages=(\d+); ReceivedMessages=(\d+)`).FindStringSubmatch(text)
	if found == nil {
		return Part{}
	}
	return Part{Seconds: parsed(found[1]), Sent: int64(parsed(found[2])), Received: int64(parsed(found[3]))}
}

// Values returns the values of the test by metric, in base units. A percentile is reported only if at least one answer
// took longer: of a hundred answers, sockperf prints the slowest as their 99.9th percentile.
func (r Result) Values() map[string]float64 {
	values := map[string]float64{}
	if r.OneWay.Seconds > 0 {
		values[lab.SendRate] = float64(r.OneWay.Sent) / r.OneWay.Seconds
	}
	if r.Valid.Seconds <= 0 || r.Valid.Received == 0 {
		return values
	}
	values[lab.RequestRate] = float64(r.Valid.Received) / r.Valid.Seconds
	values[lab.Latency(lab.Request, "mean")] = r.Mean
	values[lab.Latency(lab.Request, "min")] = r.Least
	values[lab.Latency(lab.Request, "max")] = r.Most
	for _, q := range lab.Quantiles() {
		for percent, v := range r.Percentiles {
			if math.Abs(percent/100-q.Q) < 1e-9 && (1-q.Q)*float64(r.Valid.Received) >= 1 {
				values[lab.Latency(lab.Request, q.Name)] = v
			}
		}
	}
	if r.Dropped > 0 {
		values[lab.RequestsLost] = r.lost()
	}
	return values
}

// lost returns the share of requests that have no answer.
func (r Result) lost() float64 { return float64(r.Dropped) / float64(r.Dropped+r.Valid.Received) }

// Ran returns how many seconds counted.
func (r Result) Ran() float64 { return max(r.Valid.Seconds, r.OneWay.Seconds) }

// Log has the requests that count and were answered, in the order in which they were sent.
type Log []Request

// Request is when a request was sent and answered, in seconds by the client's clock, which starts with its process or
// up to 0.2 s later: sockperf first measures how fast the processor's counter runs (ticks.cpp).
type Request struct{ Sent, Answered float64 }

// ParseLog parses the file named by --full-log. Its end is marked, so that a part is not mistaken for the whole:
//
//	packet, txTime(sec), rxTime(sec), rtt(usec)
//	0, 2.466495753, 2.466603934, 108.181
//	1579, 3.954026816, 3.954071512, 44.696
//	------------------------------
func ParseLog(text []byte) (Log, error) {
	_, text, found := bytes.Cut(text, []byte("packet, txTime(sec), rxTime(sec), "))
	if !found {
		return nil, errors.New("the log has no requests")
	}
	_, text, _ = bytes.Cut(text, []byte("\n"))
	var log Log
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("---")) {
			return log, nil
		}
		fields := bytes.Split(bytes.TrimSpace(line), []byte(", "))
		if len(fields) != 4 {
			break
		}
		sent, err := strconv.ParseFloat(string(fields[1]), 64)
		answered, err2 := strconv.ParseFloat(string(fields[2]), 64)
		if err != nil || err2 != nil || !(sent >= 0 && answered >= sent && answered < math.MaxInt32) {
			return nil, fmt.Errorf("the log says of request %d: %q", len(log), line)
		}
		log = append(log, Request{sent, answered})
	}
	return nil, fmt.Errorf("the log is cut off after %d requests", len(log))
}

// Begins returns when the first request was sent, in seconds by the client's clock.
func (l Log) Begins() float64 { return l[0].Sent }

// Ends returns when the last answer came.
func (l Log) Ends() float64 {
	last := 0.0
	for _, r := range l {
		last = max(last, r.Answered)
	}
	return last
}

// Rates returns the requests answered per second, in steps of this many seconds from the first request on. An
// incomplete step is omitted.
func (l Log) Rates(step float64) lab.Series {
	s := lab.Series{Metric: lab.RequestRate, Interval: step}
	if len(l) == 0 {
		return s
	}
	begin := l.Begins()
	s.Values = make([]float64, min(maxSteps, int((l.Ends()-begin)/step+1e-6)))
	for _, r := range l {
		if i := int((r.Answered - begin) / step); i < len(s.Values) {
			s.Values[i] += 1 / step
		}
	}
	return s
}

// maxSteps is a week in tenths of a second, so that a corrupt log can't fill the memory.
const maxSteps = 7 * 86400 * 10

// Latency returns the distribution of response times, in bins that are at most 1/64 wide, like fio's: each time is
// counted at the lower end of its bin.
func (l Log) Latency() lab.Histogram {
	counts := map[int64]uint64{}
	for _, r := range l {
		counts[bin(int64(math.Round((r.Answered-r.Sent)*1e9)))]++
	}
	var h lab.Histogram
	for ns := range counts {
		h.Nanoseconds = append(h.Nanoseconds, ns)
	}
	slices.Sort(h.Nanoseconds)
	for _, ns := range h.Nanoseconds {
		h.Counts = append(h.Counts, counts[ns])
	}
	return h
}

// bin keeps the seven highest bits.
func bin(ns int64) int64 {
	drop := max(0, bits.Len64(uint64(ns))-7)
	return ns >> drop << drop
}
