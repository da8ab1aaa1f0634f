package document

import "iter"

// Data is a table for other programs: a line for each number, say, with all that belongs to it.
type Data struct {
	Columns []string
	// Rows have a field for each column. They are made as they are written: there may be a million.
	Rows iter.Seq[[]Field]
}

// Field is a text, or a number in its base unit.
type Field struct {
	Text   string
	Number *float64
}

// Texts are fields without numbers.
func Texts(texts ...string) []Field {
	fields := make([]Field, len(texts))
	for i, text := range texts {
		fields[i].Text = text
	}
	return fields
}

// Numbers are fields that are empty for nil.
func Numbers(numbers ...*float64) []Field {
	fields := make([]Field, len(numbers))
	for i, n := range numbers {
		fields[i].Number = n
	}
	return fields
}

func (d *Data) rewritten(rewrite func(string) string) *Data {
	if d == nil {
		return nil
	}
	return &Data{Columns: d.Columns, Rows: func(yield func([]Field) bool) {
		for row := range d.Rows {
			fields := make([]Field, len(row))
			for i, f := range row {
				fields[i] = Field{rewrite(f.Text), f.Number}
			}
			if !yield(fields) {
				return
			}
		}
	}}
}
