// Command docs looks after the documentation: it checks links, anchors and how well pages read, and makes the site of
// them. scripts/lint and scripts/site call it.
//
// It is a module of its own as the other tools are, so that what it needs is no dependency of headroom.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const usage = `usage:
  docs check ROOT      print how well each page of the repository reads; fail where a link leads nowhere
  docs site ROOT OUT   write the pages as a site`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "check":
		return check(args[1])
	case len(args) == 3 && args[0] == "site":
		return writeSite(args[1], args[2])
	}
	return errors.New(usage)
}

func check(root string) error {
	pages, err := readPages(root)
	if err != nil {
		return err
	}
	table, faults := readability(pages)
	fmt.Print(table)
	broken, err := brokenLinks(root, pages)
	if err != nil {
		return err
	}
	faults = append(append(faults, broken...), unlisted(pages)...)
	if len(faults) > 0 {
		return errors.New("the documentation has faults:\n" + strings.Join(faults, "\n"))
	}
	return nil
}
