// Package perftest drives the programs of perftest, which measure RDMA, and parses their output: the table of their
// standard output, which all versions print, and the file of --out_json.
//
// Values that are not printed are absent, never zero. Source: perftest_parameters.c of perftest, print_report_bw and
// print_report_lat.
package perftest

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Result is one test, as the client saw it.
type Result struct {
	// Verb is "write", "read" or "send".
	Verb string
	// Size of an operation in bytes, and the number of operations.
	Size, Iterations int64
	// Bitrate in bit/s, Rate of operations a second. 0 in a test of latency.
	Bitrate, Rate float64
	// Latencies in seconds, as printed: for write and send they are half of the round trip. 0 if they are not printed:
	// a test with a duration has only the mean.
	Least, Median, Mean, P99, P999, Most float64
}

// number matches a decimal that perftest prints.
const number = `([0-9]+(?:\.[0-9]+)?)`

// Parse parses the standard output of a client:
//
//	#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
//	4096       800              0.00               1.56               0.000399
//
//	#bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
//	2       300          5160.12        213136.09      31105.89          35232.60       13245.98        156142.09              213136.09
//
//	#bytes        #iterations       t_avg[usec]    tps average
//	2             25            41519.74        12.04
//
// MB are 2^20 bytes (newer versions write MiB), and Gb are 10^9 bits. The file of --out_json is preferred if the text
// contains it. In 4.5 it is not valid JSON: its names and words have no quotes, and commas precede braces.
//
//	results: {
//	MsgSize: 4096,
//	BW_average: 1.56,
func Parse(text []byte) (Result, error) {
	var r Result
	all := string(text)
	head := regexp.MustCompile(
		`(RDMA_Write|RDMA_Read|Send)[ _](?:Post List )?(?:Bidirectional[ _])?(BW|Latency)[ _]Test`).FindStringSubmatch(
		all)
	if head == nil {
		return r, errors.New("expected what perftest prints, found no line with the name of a test")
	}
	r.Verb = strings.ToLower(strings.TrimPrefix(head[1], "RDMA_"))
	if strings.Contains(all, "test_info") {
		return r, r.document(all)
	}
	return r, r.table(all)
}

// table parses the table at the end of the standard output.
func (r *Result) table(all string) error {
	at := strings.LastIndex(all, "#bytes")
	if at < 0 {
		return errors.New("the test has no result")
	}
	title, rest, _ := strings.Cut(all[at:], "\n")
	line, _, _ := strings.Cut(rest, "\n")
	return r.row(title, line)
}

// row parses a line of a table. Old versions print no rate of operations.
func (r *Result) row(title, line string) error {
	values := make([]float64, 9)
	fields := strings.Fields(line)
	for i := range min(len(fields), len(values)) {
		values[i] = parsed(fields[i])
	}
	least := 5
	switch {
	case strings.Contains(title, "#sl"):
		return errors.New("a table by service level is not read")
	case strings.Contains(title, "BW average") && !bandwidthUnit().MatchString(title):
		return errors.New("the unit of the rates is not known: " + strings.TrimSpace(title))
	case strings.Contains(title, "BW average"):
		r.rates(values[3], values[4], strings.Contains(title, "[Gb/sec]"))
		if !strings.Contains(title, "MsgRate") {
			r.Rate, least = r.Bitrate/8/max(1, values[0]), 4
		}
	case strings.Contains(title, "t_typical"):
		// From 3.3 on the mean and the rest follow.
		r.Least, r.Most, r.Median, r.Mean, r.P99, r.P999 = values[2]/1e6, values[3]/1e6, values[4]/1e6, values[5]/1e6,
			values[7]/1e6, values[8]/1e6
	case strings.Contains(title, "t_avg"):
		r.Mean = values[2] / 1e6
		least = 3
	default:
		return errors.New("the table is of a kind that is not known: " + strings.TrimSpace(title))
	}
	if len(fields) < least {
		return errors.New("the test has no result")
	}
	r.Size, r.Iterations = int64(values[0]), int64(values[1])
	return nil
}

var bandwidthUnit = prose.Pattern(`BW average\[(?:MB|MiB|Gb)/sec\]`)

// document parses the file of --out_json. It does not state the unit of its rates, which is the unit of the table.
func (r *Result) document(all string) error {
	_, results, _ := strings.Cut(all, "results")
	value := func(name string) float64 {
		return parsed(word(results, `\b`+regexp.QuoteMeta(name)+`"?\s*:\s*"?`+number))
	}
	if !strings.Contains(results, "n_iterations") {
		return errors.New("the test has no result")
	}
	r.Size, r.Iterations = int64(value("MsgSize")), int64(value("n_iterations"))
	if strings.Contains(results, "MsgRate") {
		// The rate of operations determines the unit of the rate of bytes. Both are rounded.
		rate, average := value("MsgRate"), value("BW_average")
		fits := func(unit float64) bool {
			bytes := float64(r.Size) / unit
			return math.Abs(average-rate*1e6*bytes) <= 0.005+0.5*bytes+average/1000
		}
		gigabits := fits(1e9 / 8)
		if average > 0 && gigabits == fits(1<<20) {
			return errors.New("MsgRate does not tell the unit of BW_average")
		}
		r.rates(average, rate, gigabits)
	}
	r.Least, r.Most, r.Median, r.Mean = value("t_min")/1e6, value("t_max")/1e6, value("t_typical")/1e6,
		value("t_avg")/1e6
	r.P99, r.P999 = value("percentile_99")/1e6, value("percentile_99.9")/1e6
	return nil
}

// rates converts an average as printed, and the operations in millions a second.
func (r *Result) rates(average, millions float64, gigabits bool) {
	r.Bitrate, r.Rate = average*8*(1<<20), millions*1e6
	if gigabits {
		r.Bitrate = average * 1e9
	}
}

// word returns the only group of an expression; empty if it does not match.
func word(text, expression string) string {
	found := regexp.MustCompile(expression).FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}

// parsed returns a number, and 0 for other text.
func parsed(digits string) float64 {
	if !regexp.MustCompile(`^` + number + `$`).MatchString(digits) {
		return 0
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil { // more digits than a number can have
		return 0
	}
	return v
}

// Values returns the values of the test by metric, in base units. Latencies are for the whole round trip: perftest
// halves those of send and write, of which each end sends one. A percentile is reported only if at least one answer
// took longer.
func (r Result) Values() map[string]float64 {
	values := map[string]float64{}
	if r.Iterations == 0 {
		return values
	}
	direction, bitrate, ways := lab.Send, lab.SendRate, 2.0
	if r.Verb == "read" {
		direction, bitrate, ways = lab.Receive, lab.ReceiveRate, 1
	}
	if r.Bitrate > 0 {
		values[lab.Bitrate(direction)], values[bitrate] = r.Bitrate, r.Rate
	}
	if r.Mean > 0 {
		values[lab.RequestRate] = 1 / (ways * r.Mean)
	}
	for part, v := range map[string]float64{"mean": r.Mean, "min": r.Least, "max": r.Most, "p50": r.Median} {
		if v > 0 {
			values[lab.Latency(lab.Request, part)] = ways * v
		}
	}
	for part, q := range map[string]struct{ v, beyond float64 }{"p99": {r.P99, 0.01}, "p99.9": {r.P999, 0.001}} {
		if q.v > 0 && q.beyond*float64(r.Iterations) >= 1 {
			values[lab.Latency(lab.Request, part)] = ways * q.v
		}
	}
	return values
}

// Ran returns how many seconds counted.
func (r Result) Ran() float64 {
	switch {
	case r.Iterations == 0: // Values has no rate then
		return 0
	case r.Rate > 0:
		return float64(r.Iterations) / r.Rate
	case r.Mean > 0:
		return float64(r.Iterations) / r.Values()[lab.RequestRate]
	}
	return 0
}
