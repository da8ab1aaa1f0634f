package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// writeLicences writes the licence of every module that a binary is linked from, and Go's own: most of them demand that
// their text goes along. So do the packages that are embedded; root is the folder of the repository.
func writeLicences(w io.Writer, root, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "headroom is linked from these modules. Their licences follow.\n\n")
	for _, m := range info.Deps {
		fmt.Fprintf(w, "  %s %s\n", m.Path, m.Version)
	}
	for _, e := range embedded() {
		fmt.Fprintf(w, "  %s %s (npm, embedded)\n", e.name, e.version)
	}
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	if err := writeTexts(w, "The Go standard library, "+info.GoVersion, strings.TrimSpace(string(goRoot))); err != nil {
		return err
	}
	for _, m := range info.Deps {
		dir, err := moduleDir(m)
		if err != nil {
			return err
		}
		if err := writeTexts(w, m.Path+" "+m.Version, dir); err != nil {
			return err
		}
	}
	for _, e := range embedded() {
		if err := writeTexts(w, e.name+" "+e.version, filepath.Join(root, e.dir)); err != nil {
			return err
		}
	}
	return nil
}

// moduleDir is where the source of a module lies: the module cache, which a build has filled.
func moduleDir(m *debug.Module) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m.Path).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		return "", fmt.Errorf("the source of %s %s is not there: %w", m.Path, m.Version, err)
	}
	return dir, nil
}

// writeTexts writes the licence files in the root of a module.
func writeTexts(w io.Writer, name, dir string) error {
	files, err := licenceFiles(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), name, filepath.Base(file),
			strings.TrimRight(string(text), "\n"))
	}
	return nil
}

func licenceFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	name := regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && name.MatchString(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no licence file", dir)
	}
	return files, nil
}

// licenceOf is the SPDX name of a module's licence, by the words that it has and others do not.
func licenceOf(dir string) (string, error) {
	files, err := licenceFiles(dir)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if name := licenceName(strings.Join(strings.Fields(string(data)), " ")); name != "" {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s: a licence that is not known; add it to licenceName", dir)
}

func licenceName(text string) string {
	has := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case has("Apache License") && has("Version 2.0, January 2004"):
		return "Apache-2.0"
	case has("Mozilla Public License Version 2.0"):
		return "MPL-2.0"
	case has("Permission is hereby granted, free of charge"):
		return "MIT"
	case has("Permission to use, copy, modify, and/or distribute"), has("Permission to use, copy, modify, and distribute"):
		return "ISC"
	case has("Redistribution and use in source and binary forms") && (has("Neither the name") || has("names of its contributors")):
		return "BSD-3-Clause"
	case has("Redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	}
	return ""
}
