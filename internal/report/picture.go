package report

import "html/template"

// picture is a drawing and the table of the numbers in it.
type picture struct {
	Title   string
	Caption string
	SVG     template.HTML
	Head    []string
	Rows    []pictureRow
}

// pictureRow is a line of the table. At is where its point lies in the drawing, as a share of the width from the left.
type pictureRow struct {
	At    float64
	Cells []string
}
