package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// indexPage leads to all pages of docs, and says under which heading each stands.
const indexPage = "docs/index.md"

// brokenLinks are the links and images of pages, and the pages that other files name, that lead nowhere.
func brokenLinks(root string, pages []*page) ([]string, error) {
	var faults []string
	byName := map[string]*page{}
	for _, p := range pages {
		byName[p.name] = p
	}
	look := func(name, anchor string) string {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return "there is no " + name
		}
		if p := byName[name]; p != nil && anchor != "" && !p.anchors[anchor] {
			return fmt.Sprintf("%s has no heading #%s", name, anchor)
		}
		return ""
	}
	for _, p := range pages {
		for _, l := range p.links {
			name, anchor, err := p.target(l.to)
			fault := ""
			switch {
			case err != nil:
				fault = err.Error()
			case name != "":
				fault = look(name, anchor)
			}
			if fault != "" {
				faults = append(faults, fmt.Sprintf("%s:%d: the link to %s: %s", p.name, l.line, l.to, fault))
			}
		}
	}
	named, err := namedPages(root, look)
	return append(faults, named...), err
}

// target is the file of the repository that a link of the page leads to, and the anchor there; none for an address.
func (p *page) target(to string) (name, anchor string, err error) {
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return "", "", err
	case u.Scheme != "" || u.Host != "":
		return "", "", nil
	case u.Path == "":
		return p.name, u.Fragment, nil
	case path.IsAbs(u.Path):
		return "", "", errors.New("it is absolute")
	}
	name = path.Join(path.Dir(p.name), u.Path)
	if !fs.ValidPath(name) {
		return "", "", errors.New("it leads out of the repository")
	}
	return name, u.Fragment, nil
}

// namedPage is a page of docs, as code and help name it.
var namedPage = regexp.MustCompile(
	`(?m)(?:^|\.\./|[^/\w])(docs/(?:tutorials|howto|reference|explanation|development|examples)/[\w-]+\.(?:md|yaml|txt))(?:#([a-z0-9_-]+))?`)

// namedPages looks at the pages that code, scripts and texts in words name.
func namedPages(root string, look func(name, anchor string) string) (faults []string, err error) {
	err = walk(root, func(name string) error {
		text := slices.Contains([]string{".go", ".md", ".yaml", ".yml", ".txtar", ""}, path.Ext(name))
		if !text || strings.HasPrefix(name, "changelog/") || strings.HasPrefix(name, "tools/docs/") {
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		for _, m := range namedPage.FindAllStringSubmatch(string(source), -1) {
			if fault := look(m[1], m[2]); fault != "" {
				faults = append(faults, fmt.Sprintf("%s names %s: %s", name, m[1], fault))
			}
		}
		return nil
	})
	return faults, err
}

// unlisted are the pages of docs that its index doesn't lead to.
func unlisted(pages []*page) (faults []string) {
	listed := map[string]bool{indexPage: true}
	for _, p := range pages {
		if p.name != indexPage {
			continue
		}
		for _, l := range p.links {
			name, _, _ := p.target(l.to)
			listed[name] = true
		}
	}
	for _, p := range pages {
		if strings.HasPrefix(p.name, "docs/") && !listed[p.name] {
			faults = append(faults, fmt.Sprintf("%s does not lead to %s", indexPage, p.name))
		}
	}
	return faults
}
