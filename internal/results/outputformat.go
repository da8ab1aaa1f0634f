package results

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report/runs"
)

// OutputFormat is a format that a command writes, and the suffix of its files.
type OutputFormat struct{ Name, Suffix string }

// ReportFormats returns the formats that show a run.
func ReportFormats() []OutputFormat {
	var list []OutputFormat
	for _, f := range runs.Formats() {
		list = append(list, OutputFormat{f.Name, f.Extension})
	}
	return list
}

// ExportFormats returns the formats of export, with a whole run as one file.
func ExportFormats() []OutputFormat { return append(ReportFormats(), OutputFormat{"run", ".headroom"}) }

// FormatNames returns the values of --format.
func FormatNames(known []OutputFormat) []string {
	var list []string
	for _, f := range known {
		list = append(list, f.Name)
	}
	return list
}

// ChosenFormat returns the format that --format, --json and the name of a file request, and a table by default.
func ChosenFormat(output, format string, json bool, known []OutputFormat) (string, error) {
	flag, named := JSONTyped(json)
	if format != "" {
		if !slices.Contains(FormatNames(known), format) {
			return "", app.Usage("there is no format "+format, "it is one of "+prose.List(FormatNames(known)))
		}
		if json && format != "json" {
			return "", app.Usage("--json and --format " + format + " exclude each other")
		}
		flag, named = "--format "+format, format
	}
	if app.OwnOutput(output) {
		return cmp.Or(named, "table"), nil
	}
	return FormatFor(output, flag, named, "", known)
}

// FormatFor returns the format to write to an output: the one that a flag names, else the one that the suffix of the
// file means, else the usual one, for commands with a default for every name. The flag is given as typed, empty if
// there is none; the suffix must not contradict it.
func FormatFor(output, flag, named, usual string, known []OutputFormat) (string, error) {
	suffix := suffixOf(output)
	isSuffix := func(f OutputFormat) bool { return f.Suffix == suffix }
	isFormat := slices.ContainsFunc(ExportFormats(), isSuffix)
	at := slices.IndexFunc(known, isSuffix)
	switch {
	case suffix == "" && flag != "":
		return named, nil
	case flag != "":
		i := slices.IndexFunc(known, func(f OutputFormat) bool { return f.Name == named })
		if i < 0 || isSuffix(known[i]) || !isFormat || suffix == ".txt" { // every format but a whole run is text
			return named, nil
		}
		return "", app.Usage(fmt.Sprintf("%s and the name %s ask for two formats", flag, output),
			"leave out "+flag+", or end the name in "+known[i].Suffix)
	case at >= 0:
		return known[at].Name, nil
	case usual != "" && !isFormat:
		return usual, nil
	}
	var suffixes []string
	for _, f := range known {
		if !slices.Contains(suffixes, f.Suffix) {
			suffixes = append(suffixes, f.Suffix)
		}
	}
	return "", app.Usage("the name of "+output+" does not say which format to write",
		"end it in one of "+strings.Join(suffixes, ", "))
}

// suffixOf returns the suffix that names a file's format; empty for standard output.
func suffixOf(output string) string {
	if app.OwnOutput(output) {
		return ""
	}
	switch suffix := strings.ToLower(filepath.Ext(output)); suffix {
	case ".htm":
		return ".html"
	case ".markdown":
		return ".md"
	default:
		return suffix
	}
}

// JSONTyped returns --json in the form of FormatFor's arguments.
func JSONTyped(json bool) (flag, named string) {
	if !json {
		return "", ""
	}
	return "--json", "json"
}
