package reference

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// maxTableRows bounds a table: a published one is read by people.
const maxTableRows = 10000

// csvTable is a table that was typed as comma-separated values. A line that begins with # is a comment.
type csvTable struct {
	name string
	in   *csv.Reader
}

func newCSVTable(name string, r io.Reader) csvTable {
	in := csv.NewReader(bufio.NewReader(r))
	in.Comment, in.TrimLeadingSpace = '#', true
	return csvTable{name, in}
}

// fault returns an error at a line of the table.
func (t csvTable) fault(line int, format string, args ...any) error {
	return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s:%d: %s", t.name, line, fmt.Sprintf(format, args...))}
}

// head returns the first line, with its number; like is an example for the error.
func (t csvTable) head(like string) (titles []string, line int, err error) {
	titles, err = t.in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, 0, t.fault(1, "expected a line that names the columns (%s), found nothing", like)
	case err != nil:
		return nil, 0, t.unreadable(err)
	}
	for i := range titles {
		titles[i] = strings.TrimSpace(titles[i])
	}
	line, _ = t.in.FieldPos(0)
	return titles, line, nil
}

func (t csvTable) unreadable(err error) error {
	return &lab.Error{Kind: lab.Usage, What: "can't read " + t.name, Err: err}
}

// csvRow is one of the lines below the head.
type csvRow struct {
	line   int
	fields []string
}

// rows returns the lines below the head, up to the first that can't be read.
func (t csvTable) rows() iter.Seq2[csvRow, error] {
	return func(yield func(csvRow, error) bool) {
		for n := 0; ; n++ {
			fields, err := t.in.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(csvRow{}, t.unreadable(err))
				return
			}
			line, _ := t.in.FieldPos(0)
			if n == maxTableRows {
				yield(csvRow{}, t.fault(line, "expected %d rows at most", maxTableRows))
				return
			}
			for i := range fields {
				fields[i] = strings.TrimSpace(fields[i])
			}
			if !yield(csvRow{line, fields}, nil) {
				return
			}
		}
	}
}
