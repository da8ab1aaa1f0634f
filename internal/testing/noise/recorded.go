package noise

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

//go:embed traces/*.csv
var traces embed.FS

// Recorded returns traces of real disks: the rates of some hundred consecutive runs. A model begins anywhere in its
// trace, continues in the recorded order and starts again at the end; the levels are relative to the trace's median.
// The head of each file describes how it was recorded.
func Recorded() ([]Model, error) {
	files, err := fs.Glob(traces, "traces/*.csv")
	if err != nil {
		return nil, err
	}
	var models []Model
	for _, name := range files {
		text, err := traces.ReadFile(name)
		if err != nil {
			return nil, err
		}
		levels, err := parseTrace(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		models = append(models, Replay("recorded "+strings.TrimSuffix(strings.TrimPrefix(name, "traces/"), ".csv"),
			levels))
	}
	return models, nil
}

// Replay is the noise of recorded levels, all above 0.
func Replay(name string, levels []float64) Model {
	logs := make([]float64, len(levels))
	for i, level := range levels {
		logs[i] = math.Log(level)
	}
	sorted := slices.Sorted(slices.Values(logs))
	center := sorted[len(sorted)/2]
	return Model{Name: name, Runs: func(r *rand.Rand, n int) []float64 {
		runs := make([]float64, n)
		start := r.IntN(len(logs))
		for i := range runs {
			runs[i] = logs[(start+i)%len(logs)] - center
		}
		return runs
	}}
}

// parseTrace reads one rate a line, below the name of the column; lines that begin with # are comments.
func parseTrace(text string) ([]float64, error) {
	var levels []float64
	named := false
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !named {
			named = true
			continue
		}
		level, err := strconv.ParseFloat(line, 64)
		if err != nil || !(level > 0) || math.IsInf(level, 1) {
			return nil, fmt.Errorf("line %d: %q is no rate above 0", i+1, line)
		}
		levels = append(levels, level)
	}
	if len(levels) == 0 {
		return nil, errors.New("no rates")
	}
	return levels, nil
}
