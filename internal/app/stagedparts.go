package app

import (
	"fmt"
)

// PartCell is the name of a cell or an arm of the i-th run among those of all.
func PartCell(i int, name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%d/%s", i+1, name)
}
