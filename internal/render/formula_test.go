package render

import "testing"

func TestWithoutFormula(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "randread": "randread", "4k q1": "4k q1", "a=b": "a=b", " ": " ",
		"-1.5": "-1.5", "+3": "+3", "-1,5": "-1,5", "-1.5e-07": "-1.5e-07",
		"2026-11-20T22:00:00Z": "2026-11-20T22:00:00Z",
		"=1+1":                 "'=1+1", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "-2+3": "'-2+3",
		"@SUM(A1)": "'@SUM(A1)", "-1.5 MiB": "'-1.5 MiB", "-": "'-",
		"\t=1": "'\t'=1", "\r=1": "'\r'=1", "\n=1": "'\n'=1", " =1": "' =1", "＝1": "'＝1", "--1": "'--1",
		"1e5": "1e5", "+1-1": "'+1-1",
		// after a character that another spreadsheet, or the same one with other settings, takes for the end of a cell
		"a;=1": "a;'=1", "a,=1": "a,'=1", "a\t@x": "a\t'@x", "a\n+x": "a\n'+x", "a; =1": "a;' =1", ";;=1": ";;'=1",
		"a;-1": "a;-1", "a;b,＝1": "a;b,'＝1", "a;\t=1": "a;\t'=1", "=1;=1": "'=1;'=1", "a;": "a;", ";": ";",
		"5% [-7.3, -6.7]": "5% [-7.3, -6.7]", "[+1,+2%]": "[+1,+2%]",
		"[+28.4 µs, +31.6 µs]": "[+28.4 µs, +31.6 µs]", "a,-1+A1]": "a,'-1+A1]", "[1, -6.7]=1": "[1,' -6.7]=1",
	} {
		if got := withoutFormula(cell); got != want {
			t.Errorf("%q became %q, not %q", cell, got, want)
		}
	}
}
