package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page is a Markdown file.
type page struct {
	name     string // its path in the repository
	source   []byte
	tree     ast.Node
	headings []heading
	anchors  map[string]bool
	links    []link
	prose    []string // paragraphs, headings and items of lists, without code and tables
}

type heading struct {
	level      int
	text, slug string
	node       *ast.Heading
}

type link struct {
	to   string
	line int
	text string
	node ast.Node
}

func markdown() goldmark.Markdown { return goldmark.New(goldmark.WithExtensions(extension.GFM)) }

// readPages reads all Markdown files of the repository, but those that tests compare with and those of past changes.
func readPages(root string) ([]*page, error) {
	var pages []*page
	err := walk(root, func(name string) error {
		if path.Ext(name) != ".md" || strings.HasPrefix(name, "changelog/") {
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		pages = append(pages, readPage(name, source))
		return nil
	})
	return pages, err
}

// walk visits the files of the repository that people write.
func walk(root string, visit func(name string) error) error {
	return filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && (name == "testdata" || name == "build" || name == ".git"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(name))
	})
}

func readPage(name string, source []byte) *page {
	p := &page{name: name, source: source, anchors: map[string]bool{}}
	p.tree = markdown().Parser().Parse(text.NewReader(source))
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.heading(n)
			p.prose = append(p.prose, p.words(n))
		case *ast.Paragraph, *ast.TextBlock:
			p.prose = append(p.prose, p.words(n))
		case *ast.Link:
			p.link(n, string(n.Destination))
		case *ast.Image:
			p.link(n, string(n.Destination))
		case *ast.HTMLBlock, *ast.RawHTML:
			for _, m := range htmlAnchor.FindAllSubmatch(p.raw(n), -1) {
				p.anchors[string(m[1])] = true
			}
		}
		return ast.WalkContinue, nil
	})
	return p
}

// htmlAnchor is an anchor of its own: <a id="example"></a>.
var htmlAnchor = regexp.MustCompile(`(?:id|name)="([^"]+)"`)

func (p *page) heading(n *ast.Heading) {
	title := p.plain(n, false)
	slug := slugOf(title)
	for i := 1; p.anchors[slug]; i++ {
		slug = slugOf(title) + "-" + strconv.Itoa(i)
	}
	p.anchors[slug] = true
	n.SetAttributeString("id", []byte(slug))
	p.headings = append(p.headings, heading{n.Level, title, slug, n})
}

// slugOf is the anchor of a heading as GitHub makes it.
func slugOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
}

func (p *page) link(n ast.Node, to string) {
	p.links = append(p.links, link{to: to, line: p.line(n), text: p.plain(n, false), node: n})
}

// line is where the block begins that a node stands in.
func (p *page) line(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			return 1 + bytes.Count(p.source[:n.Lines().At(0).Start], []byte("\n"))
		}
	}
	return 1
}

// title is what the page calls itself.
func (p *page) title() string {
	if len(p.headings) == 0 {
		return p.name
	}
	return p.headings[0].text
}

// words is the text of a block for counting: code counts as one word.
func (p *page) words(n ast.Node) string { return p.plain(n, true) }

// raw is HTML as it stands in a page.
func (p *page) raw(n ast.Node) []byte {
	switch n := n.(type) {
	case *ast.RawHTML:
		return n.Segments.Value(p.source)
	case *ast.HTMLBlock:
		return n.Lines().Value(p.source)
	}
	return nil
}

// plain is the text of a node without markup.
func (p *page) plain(n ast.Node, codeIsAWord bool) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			if codeIsAWord {
				b.WriteString("code")
				return ast.WalkSkipChildren, nil
			}
		case *ast.Text:
			b.Write(n.Segment.Value(p.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(p.source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
