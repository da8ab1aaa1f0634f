package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jdkato/prose/v3/summarize"
)

// leastEase is the reading ease by Flesch that each page must have: 60 and above is plain English.
// https://en.wikipedia.org/wiki/Flesch–Kincaid_readability_tests
const leastEase = 60

// ease is how well the prose of a page reads.
type ease struct {
	page             *page
	words            int
	wordsPerSentence float64
	flesch           float64
}

// readability is a table of how well pages read, the hardest first, and those that are too hard.
func readability(pages []*page) (table string, faults []string) {
	var rows []ease
	for _, p := range pages {
		if e := easeOf(p); e.words > 0 {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, func(a, b ease) int { return int(100 * (a.flesch - b.flesch)) })
	var b strings.Builder
	b.WriteString("  ease   words  words/sentence  page\n")
	total := 0
	for _, e := range rows {
		fmt.Fprintf(&b, "%6.1f  %6d  %14.1f  %s\n", e.flesch, e.words, e.wordsPerSentence, e.page.name)
		total += e.words
		if e.flesch < leastEase {
			faults = append(faults, fmt.Sprintf("%s has a reading ease of %.1f, and %d is the least: write shorter "+
				"sentences and words", e.page.name, e.flesch, leastEase))
		}
	}
	fmt.Fprintf(&b, "        %6d  words of prose in %d pages; code and tables are not counted\n", total, len(rows))
	return b.String(), faults
}

func easeOf(p *page) ease {
	var prose []string
	for _, text := range p.prose {
		if text = onlyWords(text); text != "" {
			prose = append(prose, text)
		}
	}
	d := summarize.NewDocument(strings.Join(prose, "\n\n"))
	if d.NumWords == 0 {
		return ease{page: p}
	}
	return ease{p, int(d.NumWords), d.NumWords / d.NumSentences, d.FleschReadingEase()}
}

// onlyWords leaves out what is neither a word nor ends a sentence, such as "·" between links.
func onlyWords(text string) string {
	kept := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ·|→=<>", r) })
	return strings.Join(kept, " ")
}
