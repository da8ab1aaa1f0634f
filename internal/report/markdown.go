package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"headroom/internal/document"
	"headroom/internal/facts"
	"headroom/internal/lab"
)

// writeMarkdown writes GitHub's dialect: a section a run, with a table whose signs are links to footnotes.
func writeMarkdown(w io.Writer, runs []Summary, o Options) error {
	out := bufio.NewWriter(w)
	for i := range runs {
		if i > 0 {
			out.WriteString("\n")
		}
		writeSection(out, &runs[i], besideRun(o.Stages[runs[i].ID], o), i+1)
	}
	return out.Flush() // keeps the first error of all writes
}

func writeSection(out *bufio.Writer, s *Summary, staged document.Document, section int) {
	all := marks(s)
	// Footnotes are of the whole document: the number of the section keeps those of several runs apart.
	notes := func(text string) string {
		return signs(text, func(n string) string { return fmt.Sprintf("[^%d-%s]", section, n) })
	}
	fmt.Fprintf(out, "## %s\n\n%s\n\n", notes(escapeMarkdown(title(s, all))), notes(escapeMarkdown(verdict(s, all))))
	for _, c := range conditions(s) {
		fmt.Fprintf(out, "- %s: %s\n", escapeMarkdown(c.Name), escapeMarkdown(c.Text))
	}
	numbers := tableNumbers(needsMean(rows(s)), rows(s))
	out.WriteString("\n| job | |")
	for _, n := range numbers {
		out.WriteString(" " + escapeMarkdown(n.title) + " |")
	}
	out.WriteString("\n| --- | --- |" + strings.Repeat(" ---: |", len(numbers)) + "\n")
	for _, r := range rows(s) {
		name, params := r.job, r.params
		if r.several {
			params = strings.TrimSpace(params + " " + r.direction)
		}
		whole, of := rowSigns(all, r)
		out.WriteString("| " + joinNonEmpty(escapeMarkdown(name), notes(whole)) + " | " + escapeMarkdown(params) + " |")
		for _, n := range numbers {
			metric, m := n.of(r)
			text := ""
			if m != nil {
				text = joinNonEmpty(escapeMarkdown(n.text(m)), spreadText(m), notes(of(metric)))
			}
			out.WriteString(" " + text + " |")
		}
		out.WriteString("\n")
	}
	out.WriteString("\n")
	for _, line := range reading(s) {
		out.WriteString(escapeMarkdown(line) + "\n")
	}
	if len(all) > 0 {
		out.WriteString("\n")
	}
	for _, m := range all {
		var texts []string
		for _, t := range m.texts {
			texts = append(texts, escapeMarkdown(t.text)+" ("+escapeMarkdown(t.about(len(t.cells)))+")")
		}
		fmt.Fprintf(out, "[^%d-%d]: **%s**: %s\n", section, m.number, escapeMarkdown(m.code), strings.Join(texts, " "))
	}
	if len(staged.Blocks) > 0 {
		out.WriteString("\n### Stages\n")
		blocksMarkdown(out, staged.Blocks, fmt.Sprintf("stages-%d-", section))
	}
	writeFactTable(out, s)
}

// writeFactTable folds the facts away.
func writeFactTable(out *bufio.Writer, s *Summary) {
	if !slices.ContainsFunc(s.Targets, func(t lab.RunTarget) bool { return len(t.Facts) > 0 }) {
		return
	}
	index := facts.NewIndex()
	out.WriteString("\n<details><summary>Facts</summary>\n\n| role | about | fact | value | source |\n| --- | --- | " +
		"--- | --- | --- |\n")
	for _, t := range s.Targets {
		for _, f := range t.Facts {
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", escapeMarkdown(t.Role), escapeMarkdown(f.About),
				escapeMarkdown(f.Key),
				escapeMarkdown(index.Show(f)), escapeMarkdown(f.Source))
		}
	}
	out.WriteString("\n</details>\n")
}

// signs replaces every "!3" of a text.
func signs(text string, with func(number string) string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "!")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		digits := strings.IndexFunc(after+".", func(r rune) bool { return !unicode.IsDigit(r) })
		if digits == 0 {
			b.WriteString("!")
		} else {
			b.WriteString(with(after[:digits]))
		}
		text = after[digits:]
	}
}

// escapeMarkdown keeps names and values from being read as markup; line ends would break a table.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\r':
			b.WriteByte(' ')
		case strings.ContainsRune("\\`*_[]<>|~#&", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func joinNonEmpty(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
