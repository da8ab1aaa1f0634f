package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed assets
var assets embed.FS

// site is written from the pages that the index of docs leads to, directly or through others.
type site struct {
	root, out string
	pages     map[string]*page // by name
	written   []*page
	files     []string // what these link to that is no page
	menu      []menuSection
	layout    *template.Template
}

// writeSite writes the site, which needs no server and no network, into a folder.
func writeSite(root, out string) error {
	pages, err := readPages(root)
	if err != nil {
		return err
	}
	layout, err := template.ParseFS(assets, "assets/page.html")
	if err != nil {
		return err
	}
	s := &site{root: root, out: out, pages: map[string]*page{}, layout: layout}
	for _, p := range pages {
		s.pages[p.name] = p
	}
	index := s.pages[indexPage]
	if index == nil {
		return fmt.Errorf("there is no %s", indexPage)
	}
	s.menu = menuOf(index)
	if err := s.collect(index); err != nil {
		return err
	}
	var entries []searchEntry
	for _, p := range s.written {
		entries = append(entries, entriesOf(p)...)
		if err := s.writePage(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for _, name := range s.files {
		if err := s.copyFile(name); err != nil {
			return err
		}
	}
	return s.writeAssets(entries)
}

// collect finds what is written: a page, and whatever it leads to.
func (s *site) collect(first *page) error {
	seen := map[string]bool{"": true, first.name: true}
	for queue := []*page{first}; len(queue) > 0; queue = queue[1:] {
		s.written = append(s.written, queue[0])
		for _, l := range queue[0].links {
			name, _, err := queue[0].target(l.to)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", queue[0].name, l.line, err)
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			if next := s.pages[name]; next != nil {
				queue = append(queue, next)
			} else {
				s.files = append(s.files, name)
			}
		}
	}
	return nil
}

// place is where a file of the repository is on the site: docs is its root.
func (s *site) place(name string) string {
	if s.pages[name] != nil {
		name = strings.TrimSuffix(name, ".md") + ".html"
	}
	return strings.TrimPrefix(name, "docs/")
}

// rootFrom is the way from a page of the site to its root.
func rootFrom(place string) string { return strings.Repeat("../", strings.Count(place, "/")) }

func (s *site) copyFile(name string) error {
	data, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		return err
	}
	return s.write(s.place(name), data)
}

// writeAssets writes the style, the script and what the script searches. That is a script too: a page that was opened
// from a disk may not read other files.
func (s *site) writeAssets(entries []searchEntry) error {
	for _, name := range []string{"style.css", "site.js"} {
		data, err := fs.ReadFile(assets, "assets/"+name)
		if err != nil {
			return err
		}
		if err := s.write(name, data); err != nil {
			return err
		}
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	return s.write("search-index.js", []byte("const searchIndex = "+string(data)+";\n"))
}

func (s *site) write(name string, data []byte) error {
	file := filepath.Join(s.out, filepath.FromSlash(path.Clean(name)))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
