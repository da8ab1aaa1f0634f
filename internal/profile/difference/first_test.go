package difference

import "testing"

// Of each cell the first functions that differ beyond chance.
func TestFirst(t *testing.T) {
	differs, may := &Delta{A: 0, B: 1, Change: Appeared}, &Delta{A: 1, B: 1.1}
	d := Document{Cells: []Cell{
		{Cell: "read", Functions: []Function{{Name: "a", Calls: may}, {Name: "b", Calls: may, NS: differs},
			{Name: "c", Calls: differs}, {Name: "d", Waits: differs}, {Name: "e", Calls: differs}}},
		{Cell: "write", Functions: []Function{{Name: "a", Calls: may}}},
	}}
	list := d.First()
	if len(list) != 1 || list[0].Cell != "read" || len(list[0].Functions) != 3 || list[0].Functions[0].Name != "b" ||
		list[0].Functions[1].Name != "c" || list[0].Functions[2].Name != "d" {
		t.Errorf("%+v", list)
	}
}
