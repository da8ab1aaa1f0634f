package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/scripted"
)

// The result of layers, a ladder and an interference goes into a file of any format and is printed as well; a format
// that does not fit the file's name is refused before anything is measured.
func TestScriptedResultsInEveryFormat(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		twoFolders(l.machine("db1"))
		l.layers("/srv/a", "/srv/b", "--pairs", "3", "--size", "16m", "-o", "page.pdf").ends(2).says(
			"does not say which format to write", ".html")
		l.run("ladder", "/srv/a", "--on", "scripted://db1", "--format", "pdf").ends(2).says("there is no format pdf",
			"markdown")
		if loads := l.loaded("db1"); len(loads) > 0 {
			t.Errorf("it was loaded: %v", loads)
		}
		l.layers("/srv/a", "/srv/b", "--pairs", "3", "--size", "16m", "--label", "all").ends(0)
		l.inEveryFormat("compare", "--layers", "--resume", "all")
		l.ladder("/srv/a", "--passes", "3", "--size", "16m", "--label", "climbed").ends(0)
		l.inEveryFormat("ladder", "--resume", "climbed")
	})
}

func TestScriptedInterferenceInEveryFormat(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.machine("server").Fio = func(*scripted.Load) scripted.IO { return scripted.IO{Read: 4000} }
		l.run(l.ends("net", "interference", "--group", "a=198.18.0.2", "--group", "data=/srv", "--passes", "3", "--set",
			"time=5s", "--size", "16m", "--label", "beside")...).ends(0)
		l.inEveryFormat("net", "interference", "--resume", "beside")
		for args, found := range map[string]bool{"show beside": true, "show beside --cells": false,
			"report beside --format markdown": true} {
			o := l.run(strings.Fields(args)...).ends(0)
			if strings.Contains(o.stdout, "What each keeps of what it does alone") != found {
				t.Errorf("headroom %s says what was found, want %t:\n%s", args, found, o.stdout)
			}
		}
	})
}

// inEveryFormat shows a saved result in files, and without one.
func (l *scriptedLab) inEveryFormat(args ...string) {
	l.Helper()
	table := l.run(args...).ends(0).stdout
	for suffix, has := range map[string]string{".html": "<table", ".md": "| ---: |", ".csv": "table,row,name",
		".json": `"schema": "headroom/`} {
		file := filepath.Join(l.TempDir(), "result"+suffix)
		printed := l.run(append(args, "-o", file)...).ends(0).says("wrote " + file)
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), has) {
			l.Errorf("%v, %s: %v\n%s", args, suffix, err, text)
		}
		if printed.stdout != table {
			l.Errorf("%v, %s: printed\n%s\nand without a file\n%s", args, suffix, printed.stdout, table)
		}
	}
	l.run(append(args, "--format", "markdown")...).ends(0).says("| ---: |")
	l.run(append(args, "--format", "csv", "--json")...).ends(2).says("exclude each other")
}
