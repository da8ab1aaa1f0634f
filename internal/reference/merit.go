package reference

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

//go:embed merits/*.csv
var builtInMerits embed.FS

// Merits are the figures of merit that a report gives of each of its loads over the levels of a factor.
type Merits struct {
	Source string
	// Factor, and the Share of the best level that is enough: 0.9.
	Factor string
	Share  float64
	Rows   []Merit
}

// Merit is one load.
type Merit struct {
	// Params by fio's names; rw is TotalOf for a row over all operations.
	Params map[string]string
	// Gain of the best level over the baseline as a share: 0.18 is 18%. Smallest is the smallest level that is enough; empty where it is not printed.
	Gain     float64
	Smallest string
	// Line of the file.
	Line int
}

// TotalOf stands for rw in a row over all operations.
const TotalOf = "total"

// MeritNames are the sources whose figures of merit come with headroom.
func MeritNames() ([]string, error) {
	files, err := fs.Glob(builtInMerits, "merits/*.csv")
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(path.Base(f), ".csv"))
	}
	return names, err
}

// BuiltInMerits reads the figures of merit of a source that come with headroom.
func BuiltInMerits(source string) (Merits, error) {
	names, err := MeritNames()
	if err != nil {
		return Merits{}, err
	}
	source = strings.TrimPrefix(source, Prefix)
	if !slices.Contains(names, source) {
		return Merits{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("no published figures of merit of %q come with headroom", source),
			Hints: []string{"there are those of " + strings.Join(names, ", "), "or name a file of your own, which docs/sweep.md describes"}}
	}
	data, err := builtInMerits.ReadFile("merits/" + source + ".csv")
	if err != nil {
		return Merits{}, err
	}
	return ParseMerits(Prefix+source, bytes.NewReader(data))
}

// ParseMerits reads figures of merit that somebody typed as comma-separated values. The first line names the columns: parameters as fio calls them,
// "gain %", and "smallest FACTOR for SHARE". A line that begins with # is a remark.
//
//	bs,rw,numjobs,iodepth,gain %,smallest guest:iothreads for 90%
//	2048,randread,16,16,494,8
//	2048,total,16,16,417,9
func ParseMerits(name string, r io.Reader) (Merits, error) {
	fault := func(line int, format string, args ...any) error {
		return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s:%d: %s", name, line, fmt.Sprintf(format, args...))}
	}
	out := Merits{Source: name}
	in := csv.NewReader(bufio.NewReader(r))
	in.Comment, in.TrimLeadingSpace = '#', true
	head, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return out, fault(1, "expected a line that names the columns (bs, rw, gain %%, smallest guest:iothreads for 90%%), found nothing")
	case err != nil:
		return out, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
	}
	line, _ := in.FieldPos(0)
	gain, smallest := -1, -1
	params := map[int]string{}
	for i, title := range head {
		title = strings.TrimSpace(title)
		factor, share, ok := strings.Cut(strings.TrimPrefix(title, "smallest "), " for ")
		switch {
		case title == "gain %":
			gain = i
		case strings.HasPrefix(title, "smallest ") && ok:
			smallest, out.Factor = i, factor
			if out.Share, err = unit.ParseShare(share); err != nil {
				return out, fault(line, "%v", err)
			}
		case slices.Contains(meritParams(), title):
			params[i] = title
		default:
			return out, fault(line, "expected %s, gain %% or smallest FACTOR for SHARE as the title of a column, found %q", strings.Join(meritParams(), ", "), title)
		}
	}
	if gain < 0 || smallest < 0 || !slices.Contains(slices.Collect(maps.Values(params)), "rw") {
		return out, fault(line, "expected the columns rw, gain %% and smallest FACTOR for SHARE, found %s", strings.Join(head, ","))
	}
	for len(out.Rows) < maxTableRows {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, &lab.Error{Kind: lab.Usage, What: "can't read " + name, Err: err}
		}
		row := Merit{Params: map[string]string{}, Smallest: strings.TrimSpace(fields[smallest])}
		row.Line, _ = in.FieldPos(0)
		percent, err := strconv.ParseFloat(strings.TrimSpace(fields[gain]), 64)
		if err != nil || !(percent > -100 && percent < 1e6) {
			return out, fault(row.Line, "expected a gain in percent, found %q", fields[gain])
		}
		row.Gain = percent / 100
		for i, param := range params {
			row.Params[param] = strings.TrimSpace(fields[i])
		}
		out.Rows = append(out.Rows, row)
	}
	return out, fault(line, "expected %d rows at most", maxTableRows)
}

// meritParams are the parameters that tell loads apart in such tables.
func meritParams() []string { return []string{"rw", "bs", "numjobs", "iodepth", "rwmixread"} }
