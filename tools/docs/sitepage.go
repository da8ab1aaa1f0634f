package main

import (
	"bytes"
	"html/template"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer/html"
)

// menuSection is a heading of the index with the pages below it.
type menuSection struct {
	Title   string
	Entries []menuEntry
	Open    bool // the page that is shown is in it
}

type menuEntry struct {
	Text, Href string
	Shown      bool
	name       string
}

// menuOf makes a menu of the index. A page that it names several times stands where it does so last.
func menuOf(index *page) []menuSection {
	var menu []menuSection
	last := map[string]int{}
	_ = ast.Walk(index.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if entering && n.Level == 2 {
				menu = append(menu, menuSection{Title: index.plain(n, false)})
			}
		case *ast.Link:
			if name, _, _ := index.target(string(n.Destination)); entering && name != "" && len(menu) > 0 {
				last[name] = len(menu) - 1
				section := &menu[len(menu)-1]
				section.Entries = append(section.Entries,
					menuEntry{Text: capitalized(index.plain(n, false)), name: name})
			}
		}
		return ast.WalkContinue, nil
	})
	for i := range menu {
		menu[i].Entries = slices.DeleteFunc(menu[i].Entries, func(e menuEntry) bool { return last[e.name] != i })
	}
	return slices.DeleteFunc(menu, func(s menuSection) bool { return len(s.Entries) == 0 })
}

func capitalized(text string) string {
	runes := []rune(text)
	if len(runes) > 0 {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return string(runes)
}

// shownPage is what the layout takes.
type shownPage struct {
	Title, Root, Home string
	Menu              []menuSection
	Heading           template.HTML
	Headings          []menuEntry
	Body              template.HTML
}

// leastHeadings is how many headings a page has that begins with a list of them.
const leastHeadings = 3

func (s *site) writePage(p *page) error {
	place := s.place(p.name)
	shown := shownPage{Title: p.title(), Root: rootFrom(place)}
	shown.Home = shown.Root + s.place(indexPage)
	for _, section := range s.menu {
		entries := make([]menuEntry, len(section.Entries))
		for i, e := range section.Entries {
			e.Href, e.Shown = shown.Root+s.place(e.name), e.name == p.name
			section.Open = section.Open || e.Shown
			entries[i] = e
		}
		section.Entries = entries
		shown.Menu = append(shown.Menu, section)
	}
	for _, h := range p.headings {
		if h.level == 2 {
			shown.Headings = append(shown.Headings, menuEntry{Text: h.text, Href: "#" + h.slug})
		}
	}
	if len(shown.Headings) < leastHeadings || p.name == indexPage {
		shown.Headings = nil
	}
	if err := s.relink(p, shown.Root); err != nil {
		return err
	}
	var body bytes.Buffer
	// The pages are our own, and have comments and anchors in HTML.
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Renderer().Render(&body, p.source, p.tree); err != nil {
		return err
	}
	begin, rest, _ := strings.Cut(body.String(), "</h1>")
	shown.Heading, shown.Body = template.HTML(begin+"</h1>"), template.HTML(rest)
	var whole bytes.Buffer
	if err := s.layout.Execute(&whole, shown); err != nil {
		return err
	}
	return s.write(place, whole.Bytes())
}

// relink has the links of a page lead to places of the site, and puts one to itself behind each heading.
func (s *site) relink(p *page, root string) error {
	for _, l := range p.links {
		name, anchor, err := p.target(l.to)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		to := root + s.place(name)
		if anchor != "" {
			to += "#" + anchor
		}
		switch n := l.node.(type) {
		case *ast.Link:
			n.Destination = []byte(to)
		case *ast.Image:
			n.Destination = []byte(to)
		}
	}
	for _, h := range p.headings {
		self := ast.NewLink()
		self.Destination = []byte("#" + h.slug)
		self.SetAttributeString("class", []byte("self"))
		self.SetAttributeString("aria-label", []byte("link to this heading"))
		self.AppendChild(self, ast.NewString([]byte("#")))
		h.node.AppendChild(h.node, self)
	}
	return nil
}

// searchEntry is a part of a page below one heading.
type searchEntry struct {
	Place   string `json:"place"`
	Page    string `json:"page"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
}

// entriesOf takes a page apart at its headings, before its links are changed.
func entriesOf(p *page) []searchEntry {
	place := strings.TrimPrefix(strings.TrimSuffix(p.name, ".md")+".html", "docs/")
	entries := []searchEntry{{Place: place, Page: p.title()}}
	var text strings.Builder
	end := func() {
		entries[len(entries)-1].Text = strings.Join(strings.Fields(text.String()), " ")
		text.Reset()
	}
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level > 1 {
				end()
				slug, _ := n.AttributeString("id")
				entries = append(entries, searchEntry{Place: place + "#" + string(slug.([]byte)), Page: p.title(),
					Heading: p.plain(n, false)})
			}
			return ast.WalkSkipChildren, nil
		case *ast.Paragraph, *ast.TextBlock, *extast.TableCell:
			text.WriteString(p.plain(n, false) + " ")
			return ast.WalkSkipChildren, nil
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			text.Write(n.Lines().Value(p.source))
			text.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	end()
	return entries
}
