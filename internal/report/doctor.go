package report

import "headroom/internal/document"

func TextValue(name, text string) document.Value {
	return document.Value{Name: name, Cell: document.Cell{Text: text}}
}
