package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/prose"
	"headroom/internal/report"
)

// outputFormat is a format that a command writes, and the suffix of its files.
type outputFormat struct{ name, suffix string }

// reportFormats are those that show a run.
func reportFormats() []outputFormat {
	var list []outputFormat
	for _, f := range report.Formats() {
		list = append(list, outputFormat{f.Name, f.Extension})
	}
	return list
}

// exportFormats are those of export: a run as one file is among them.
func exportFormats() []outputFormat { return append(reportFormats(), outputFormat{"run", ".headroom"}) }

// compareFormats are those of a comparison.
func compareFormats() []outputFormat {
	var list []outputFormat
	for _, f := range report.CompareFormats() {
		list = append(list, outputFormat{f.Name, f.Extension})
	}
	return append(list, outputFormat{"json", ".json"})
}

// formatNames are what --format takes.
func formatNames(known []outputFormat) []string {
	var list []string
	for _, f := range known {
		list = append(list, f.name)
	}
	return list
}

// formatFlag adds --format.
func formatFlag(c *cobra.Command, format *string, known []outputFormat) {
	c.Flags().StringVar(format, "format", "", "how to write the result: "+strings.Join(formatNames(known),
		", ")+" (default table)")
	completeFlag(c, "format", func() []string { return formatNames(known) })
}

// chosenFormat is the format that --format, --json and the name of a file ask for, and a table where nothing does.
func chosenFormat(output, format string, json bool, known []outputFormat) (string, error) {
	flag, named := jsonTyped(json)
	if format != "" {
		if !slices.Contains(formatNames(known), format) {
			return "", usage("there is no format "+format, "it is one of "+prose.List(formatNames(known)))
		}
		if json && format != "json" {
			return "", usage("--json and --format " + format + " exclude each other")
		}
		flag, named = "--format "+format, format
	}
	if ownOutput(output) {
		return cmp.Or(named, "table"), nil
	}
	return formatFor(output, flag, named, "", known)
}

// formatFor is the format to write to an output: the one that a flag names, else the one that the suffix of the file
// stands for, else the usual one, where a command has one for every name. The flag is given as typed, empty where there
// is none; the suffix must not contradict it.
func formatFor(output, flag, named, usual string, known []outputFormat) (string, error) {
	suffix := suffixOf(output)
	isSuffix := func(f outputFormat) bool { return f.suffix == suffix }
	isFormat := slices.ContainsFunc(exportFormats(), isSuffix)
	at := slices.IndexFunc(known, isSuffix)
	switch {
	case suffix == "" && flag != "":
		return named, nil
	case flag != "":
		i := slices.IndexFunc(known, func(f outputFormat) bool { return f.name == named })
		if i < 0 || isSuffix(known[i]) || !isFormat || suffix == ".txt" { // every format but a whole run is text
			return named, nil
		}
		return "", usage(fmt.Sprintf("%s and the name %s ask for two formats", flag, output),
			"leave out "+flag+", or end the name in "+known[i].suffix)
	case at >= 0:
		return known[at].name, nil
	case usual != "" && !isFormat:
		return usual, nil
	}
	var suffixes []string
	for _, f := range known {
		if !slices.Contains(suffixes, f.suffix) {
			suffixes = append(suffixes, f.suffix)
		}
	}
	return "", usage("what to write into "+output+" can't be told from its name",
		"end it in one of "+strings.Join(suffixes, ", "))
}

// suffixOf is the suffix by which a file's format is told; empty for standard output.
func suffixOf(output string) string {
	if ownOutput(output) {
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

// jsonTyped is --json as formatFor takes it.
func jsonTyped(json bool) (flag, named string) {
	if !json {
		return "", ""
	}
	return "--json", "json"
}
