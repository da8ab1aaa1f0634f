package reference

import (
	"bytes"
	"embed"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/unit"
)

//go:embed merits/*.csv
var builtInScores embed.FS

// Scores are the figures of merit in a report, for each of its loads over the levels of a factor.
type Scores struct {
	Source string
	// Factor, and the Share of the best level's result that suffices: 0.9.
	Factor string
	Share  float64
	Rows   []Score
}

// Score is one load.
type Score struct {
	// Params by fio's names; rw is TotalOf for a row over all operations.
	Params map[string]string
	// Gain of the best level over the baseline as a share: 0.18 is 18%. Smallest is the smallest sufficient level;
	// empty if it is not printed.
	Gain     float64
	Smallest string
}

// TotalOf is the value of rw in a row over all operations.
const TotalOf = "total"

func scoreFiles() csvFiles {
	return csvFiles{builtInScores, "merits", "figures of merit", "docs/howto/sweep.md"}
}

// ScoreNames returns the sources whose figures of merit come with headroom.
func ScoreNames() ([]string, error) { return scoreFiles().names() }

// BuiltInScores reads the figures of merit of a source that come with headroom.
func BuiltInScores(source string) (Scores, error) {
	data, err := scoreFiles().read(source)
	if err != nil {
		return Scores{}, err
	}
	return ParseScores(Prefix+strings.TrimPrefix(source, Prefix), bytes.NewReader(data))
}

// ParseScores reads figures of merit that were typed as comma-separated values. The first line names the columns:
// parameters with fio's names, "gain %", and "smallest FACTOR for SHARE". A line that begins with # is a comment.
//
//	bs,rw,numjobs,iodepth,gain %,smallest guest:iothreads for 90%
//	2048,randread,16,16,494,12
//	2048,total,16,16,334,10
func ParseScores(name string, r io.Reader) (Scores, error) {
	out := Scores{Source: name}
	in := newCSVTable(name, r)
	head, line, err := in.head("bs, rw, gain %, smallest guest:iothreads for 90%")
	if err != nil {
		return out, err
	}
	gain, smallest := -1, -1
	params := map[int]string{}
	for i, title := range head {
		factor, share, ok := strings.Cut(strings.TrimPrefix(title, "smallest "), " for ")
		switch {
		case title == "gain %":
			gain = i
		case strings.HasPrefix(title, "smallest ") && ok:
			smallest, out.Factor = i, factor
			if out.Share, err = unit.ParseShare(share); err != nil {
				return out, in.fault(line, "%v", err)
			}
		case slices.Contains(scoreParams(), title):
			params[i] = title
		default:
			return out, in.fault(line, "expected %s, gain %% or smallest FACTOR for SHARE as the title of a column, "+
				"found %q", strings.Join(scoreParams(), ", "), title)
		}
	}
	if gain < 0 || smallest < 0 || !slices.Contains(slices.Collect(maps.Values(params)), "rw") {
		return out, in.fault(line, "expected the columns rw, gain %% and smallest FACTOR for SHARE, found %s",
			strings.Join(head, ","))
	}
	for r, err := range in.rows() {
		if err != nil {
			return out, err
		}
		row := Score{Params: map[string]string{}, Smallest: r.fields[smallest]}
		percent, err := strconv.ParseFloat(r.fields[gain], 64)
		if err != nil || !(percent > -100 && percent < 1e6) {
			return out, in.fault(r.line, "expected a gain in percent, found %q", r.fields[gain])
		}
		row.Gain = percent / 100
		for i, param := range params {
			row.Params[param] = r.fields[i]
		}
		out.Rows = append(out.Rows, row)
	}
	if len(out.Rows) == 0 {
		return out, in.fault(line, "expected rows below the names of the columns, found none")
	}
	return out, nil
}

// scoreParams returns the parameters that distinguish loads in such tables.
func scoreParams() []string { return []string{"rw", "bs", "numjobs", "iodepth", "rwmixread"} }
