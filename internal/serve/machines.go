package serve

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report/machines"
	"github.com/headroom/headroom/internal/results"
)

// machineRoutes are the pages of the machines that runs know something of.
func (s *site) machineRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /machines", s.page(s.light, s.machines))
	mux.HandleFunc("GET /machines/{run}", s.page(s.heavy, s.machine))
	mux.HandleFunc("GET /machines/difference", s.page(s.heavy, s.machineDifferences))
}

// machineRow is a target with its newest run, whose facts stand for it.
type machineRow struct {
	Name, ID, Short, Address string
	Runs                     int
	Newest                   time.Time
}

// machines is the page of all targets that runs were measured on.
func (s *site) machines(*http.Request) (page, error) {
	rows, damaged := s.library.rows()
	if damaged != nil && len(rows) == 0 {
		return page{}, damaged
	}
	shortID := s.library.store.ShortIDs()
	byName := map[string]*machineRow{}
	for _, r := range rows {
		if r.Target == "" || r.Source == lab.Imported { // which knows next to nothing of its machine
			continue
		}
		m := byName[r.Target]
		if m == nil {
			m = &machineRow{Name: prose.Inline(r.Target)}
			byName[r.Target] = m
		}
		if m.Runs++; m.ID == "" || r.Created.After(m.Newest) {
			m.ID, m.Short, m.Newest, m.Address = r.ID, shortID(r.ID), r.Created, machineAddress(r.ID, "")
		}
	}
	var list []machineRow
	for _, m := range byName {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b machineRow) int {
		return cmp.Or(b.Newest.Compare(a.Newest), cmp.Compare(a.Name, b.Name))
	})
	return page{Title: "Machines", Template: "machines", Data: list, Section: "machines"}, nil
}

func machineAddress(run, role string) string {
	address := "/machines/" + url.PathEscape(run)
	if role != "" {
		address += "?" + url.Values{"role": {role}}.Encode()
	}
	return address
}

// machine is the page of a run's machine: findings, and below them its facts.
func (s *site) machine(r *http.Request) (page, error) {
	b, err := s.library.find(r.PathValue("run"))
	if err != nil {
		return page{}, err
	}
	role, links := r.URL.Query().Get("role"), []link{{"its run", runAddress(b.Run.ID)}}
	roles := app.Machines(b)
	if role == "" && len(roles) > 1 {
		role = roles[0]
	}
	if len(roles) > 1 {
		for _, other := range roles {
			if other == role {
				continue
			}
			two := []string{b.Run.ID, b.Run.ID}
			links = append(links, link{prose.Inline(other), machineAddress(b.Run.ID, other)},
				link{"what differs in " + prose.Inline(other), differenceAddress(two, role, other)})
		}
	}
	found, err := results.DiagnosisForOthers(b, role)
	if err != nil {
		return page{}, err
	}
	known, err := results.FactsForOthers(b, role)
	if err != nil {
		return page{}, err
	}
	d := machines.Diagnosis(found, machines.DiagnosisOptions{})
	d.Blocks = append(d.Blocks, factBlocks(known)...)
	p, err := ofDocument(d, links...)
	p.Section = "machines"
	return p, err
}

// factBlocks are tables of facts, without the thousands of build options, sysctls and module parameters.
func factBlocks(d facts.Document) []document.Block {
	index := catalogue.NewIndex()
	var blocks []document.Block
	for _, section := range facts.Sections(facts.Brief(d.Facts)) {
		t := document.Table{Name: section.Title, Columns: []document.Column{{Title: "fact", Kind: document.Words},
			{Title: "value", Kind: document.Words}}}
		for _, row := range section.Rows {
			t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{{Text: prose.Inline(row.Name)},
				{Text: prose.Inline(index.Show(row.Fact))}}})
		}
		blocks = append(blocks, document.Folded{Title: section.Title, Blocks: []document.Block{t}})
	}
	return append([]document.Block{document.Heading{Text: "Facts"}}, blocks...)
}

// differenceAddress is the page of what the machines of two runs differ in, of runs on several in some roles.
func differenceAddress(runs []string, roles ...string) string {
	q := url.Values{"run": runs}
	if len(roles) > 0 {
		q["role"] = roles
	}
	return "/machines/difference?" + q.Encode()
}

// machineDifferences is the page of what two machines differ in: /machines/difference?run=7KQ4&run=9ZZZ.
func (s *site) machineDifferences(r *http.Request) (page, error) {
	two, err := s.library.twoMachines(r.URL.Query())
	if err != nil {
		return page{}, err
	}
	var known []facts.Document
	var links []link
	for _, m := range two {
		d, err := results.FactsForOthers(m.Bundle, m.role)
		if err != nil {
			return page{}, err
		}
		known, links = append(known, d), append(links, link{prose.Inline(d.Target), machineAddress(m.Run.ID, m.role)})
	}
	found, err := results.DifferencesForOthers(known[0], known[1])
	if err != nil {
		return page{}, err
	}
	shown := machines.Differences(found, machines.DifferenceOptions{Top: machines.ShownDifferences})
	p, err := ofDocument(shown, links...)
	p.Section = "machines"
	return p, err
}
