package serve

import (
	"bytes"
	"embed"
	"html/template"
	"time"

	"github.com/dustin/go-humanize"
)

//go:embed templates/*.tmpl
var templateFiles embed.FS

// layout is what the frame of each page needs.
type layout struct{ page }

// Sections are the pages that the navigation leads to.
func (layout) Sections() []section {
	return []section{{"runs", "Runs", "/"}, {"history", "History", "/history"},
		{"machines", "Machines", "/machines"}}
}

// choice is one of several names, of a filter.
type choice struct {
	Title, Name, Chosen string
	Names               []string
}

type section struct{ Name, Title, Address string }

// parsePages reads the templates. That of a page's own part is executed by its name.
func parsePages() (*template.Template, error) {
	pages := template.New("pages")
	return pages.Funcs(template.FuncMap{
		"own": func(p layout) (template.HTML, error) { return executed(pages, p.Template, p.Data) },
		"ago": func(t time.Time) string { return humanize.RelTime(t, time.Now(), "ago", "from now") },
		"choice": func(title, name, chosen string, names []string) choice {
			return choice{title, name, chosen, names}
		},
		"clock":  func(t time.Time) string { return t.UTC().Format(time.TimeOnly) },
		"iso":    func(t time.Time) string { return t.Format(time.RFC3339) },
		"day":    func(t time.Time) string { return t.Format(time.DateOnly) },
		"minute": func(t time.Time) string { return t.Format("2006-01-02 15:04") },
	}).ParseFS(templateFiles, "templates/*.tmpl")
}

func executed(pages *template.Template, name string, data any) (template.HTML, error) {
	var out bytes.Buffer
	err := pages.ExecuteTemplate(&out, name, data)
	return template.HTML(out.String()), err
}
