package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// execution is a command whose executed code is counted, with the most files and packages that it may need in the end;
// 0 is no goal.
type execution struct {
	args            []string
	files, packages int
}

// printRuns builds the program with coverage, executes commands in a folder of its own below root/build, and prints how
// many files and packages of the program each executes. It measures with fio for two minutes. Files with at most few
// executed statements are listed, too.
func printRuns(root string, few int) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "build"), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Join(root, "build"), "shape-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	p := covered{program: filepath.Join(temp, "headroom"), temp: temp}
	build := exec.Command("go", "build", "-cover", "-coverpkg=./...", "-o", p.program, "./cmd/headroom")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build -cover: %w", err)
	}
	measure := execution{args: []string{"run", "quick", filepath.Join(temp, "scratch")}, files: 280, packages: 40}
	if err := os.Mkdir(measure.args[2], 0o755); err != nil {
		return err
	}
	if err := p.count(measure, few); err != nil {
		return err
	}
	if _, err := p.output("second", measure.args...); err != nil {
		return err
	}
	list, err := p.output("listed", "list", "--json")
	if err != nil {
		return err
	}
	ids, err := savedRuns(list)
	if err != nil {
		return err
	}
	for _, e := range []execution{
		{args: append([]string{"compare"}, ids...), files: 160, packages: 28},
		{args: []string{"list"}},
		{args: []string{"version"}},
	} {
		if err := p.count(e, few); err != nil {
			return err
		}
	}
	return nil
}

// covered is a program that was built with coverage.
type covered struct{ program, temp string }

// count executes a command, and prints how many files and packages it executes.
func (p covered) count(e execution, few int) error {
	statements, err := p.execute(e.args...)
	if err != nil {
		return err
	}
	packages := map[string]bool{}
	for file := range statements {
		packages[path.Dir(file)] = true
	}
	show := func(n, goal int, what string) {
		to := ""
		if goal > 0 {
			to = fmt.Sprintf("(to be %4d)", goal)
		}
		fmt.Printf("%6d  %12s  %s that headroom %s executes\n", n, to, what, e.args[0])
	}
	show(len(statements), e.files, "files")
	show(len(packages), e.packages, "packages")
	for _, file := range slices.Sorted(maps.Keys(statements)) {
		if statements[file] <= few {
			fmt.Printf("%22s%2d %s\n", "", statements[file], file)
		}
	}
	return nil
}

// savedRuns returns the ids of the two runs of a list as JSON.
func savedRuns(list []byte) ([]string, error) {
	var saved struct {
		Runs []struct {
			ID string `json:"id"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(list, &saved); err != nil {
		return nil, fmt.Errorf("headroom list --json: %w", err)
	}
	if len(saved.Runs) != 2 {
		return nil, fmt.Errorf("headroom list --json has %d runs, not 2", len(saved.Runs))
	}
	return []string{saved.Runs[0].ID, saved.Runs[1].ID}, nil
}

// output executes the program, and returns what it prints. Its counters are written to a folder of that name.
func (p covered) output(name string, args ...string) ([]byte, error) {
	counters := filepath.Join(p.temp, name)
	if err := os.MkdirAll(counters, 0o755); err != nil {
		return nil, err
	}
	c := exec.Command(p.program, args...)
	c.Dir = p.temp
	// It uses no store, no settings and no caches of the user.
	c.Env = append(os.Environ(), "GOCOVERDIR="+counters, "HOME="+p.temp)
	for _, kind := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		c.Env = append(c.Env, "XDG_"+kind+"_HOME="+filepath.Join(p.temp, strings.ToLower(kind)))
	}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("headroom %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// execute executes the program, and returns the number of executed statements of each file with any.
func (p covered) execute(args ...string) (map[string]int, error) {
	name := args[0]
	if _, err := p.output(name, args...); err != nil {
		return nil, err
	}
	profile := filepath.Join(p.temp, name+".txt")
	text := exec.Command("go", "tool", "covdata", "textfmt", "-i", filepath.Join(p.temp, name), "-o", profile)
	if printed, err := text.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go tool covdata: %w\n%s", err, printed)
	}
	data, err := os.ReadFile(profile)
	return executed(data), err
}

// block is a line of a profile of coverage: a file, a range of lines and columns, the number of its statements, and how
// often they were executed.
//
//	github.com/headroom/headroom/cmd/headroom/main.go:22.13,27.2 4 1
var block = regexp.MustCompile(`^` + regexp.QuoteMeta(module) + `(\S+\.go):\S+ (\d+) (\d+)$`)

// executed returns the number of executed statements of each file with any, from a profile of coverage.
func executed(profile []byte) map[string]int {
	statements := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(profile))
	for lines.Scan() {
		m := block.FindStringSubmatch(lines.Text())
		if m == nil || m[3] == "0" {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil && n > 0 {
			statements[m[1]] += n
		}
	}
	return statements
}
