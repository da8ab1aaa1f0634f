package report

import (
	"bufio"
	"fmt"
	"io"

	"headroom/internal/bisection"
)

// WriteBisection writes which settings make the slow state slow: the answer, the ends, every measurement with what was
// likely after it, and how the answer was proved.
func WriteBisection(w io.Writer, d bisection.Document, o Options) error {
	t := newBisectionText(d)
	p := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	for _, line := range t.answer() {
		p.wrapped(strong, line, 0)
	}
	p.line("")
	p.wrapped(plain, t.ends(), 0)
	for _, line := range t.before() {
		p.wrapped(plain, line, 0)
	}
	if len(d.Steps) > 0 {
		p.line("")
		p.steps(t)
	}
	if lines := t.left(); len(lines) > 0 {
		p.line("")
		for _, line := range lines {
			p.wrapped(plain, line, 0)
		}
	}
	for _, m := range t.marks {
		writeMark(p.out, m, false, p.width, o)
	}
	p.line("")
	p.wrapped(faint, t.reading(), 0)
	if d.Run != "" {
		id := d.Run
		if o.ShortID != nil {
			id = o.ShortID(id)
		}
		p.wrapped(plain, "saved as "+id+" (headroom report "+id+" -o page.html)", 2)
	}
	return p.out.Flush()
}

// steps is the table of the measurements, with as many suspects beside each as there is room for.
func (p *paragraphs) steps(t bisectionText) {
	for suspects := 3; ; suspects-- {
		number, tried, value := column{title: "", right: true}, column{title: "tried"},
			column{title: t.valueTitle(), right: true, figures: true}
		likely := column{title: "most likely so far", optional: true}
		for _, s := range t.Steps {
			number.cells = append(number.cells, fmt.Sprint(s.Number))
			tried.cells = append(tried.cells, t.tried(s))
			value.cells = append(value.cells, t.value(s.Value))
			likely.cells = append(likely.cells, t.likeliest(s, suspects))
		}
		all := []column{number, tried, value, likely}
		if suspects > 0 && grid(all).width() > p.width {
			continue
		}
		g, _ := fit(all, p.width)
		for _, l := range g.lines(p.o) {
			p.line(l)
		}
		return
	}
}
