package record

import (
	"maps"
	"testing"
)

func TestParseIO(t *testing.T) {
	const text = "rchar: 63749\nwchar: 16777216\nsyscr: 128\nsyscw: 4096\nread_bytes: 274432\nwrite_bytes: 16777216\n" +
		"cancelled_write_bytes: 7\n"
	want := ioCounts{calls: 4224, callBytes: 16840965, deviceBytes: 17051648}
	if got := parseIO(text); got != want {
		t.Errorf("%+v", got)
	}
}

func TestParseRing(t *testing.T) {
	const text = "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t146288\nSqMask:\t0x7\nSqHead:\t65524\nSqTail:\t65524\n" +
		"CachedSqHead:\t65524\nCqMask:\t0xf\nCqHead:\t65516\nCqTail:\t4294967295\nCachedCqTail:\t65516\n"
	if n, ok := parseRing(text); !ok || n != 1<<32-1 {
		t.Errorf("%d, %v", n, ok)
	}
	if n, ok := parseRing(text[:50]); ok { // the kernel was working on it
		t.Errorf("%d of nothing", n)
	}
}

func TestParseTrimmed(t *testing.T) {
	const text = `   7       0 loop0 76009 0 852864 17369 2488 178269 976361 14284 1 17668 32702 27 0 10354705 133 240 914
   7       1 loop1 1189 0 13256 346 51 1150 9488 86 0 416 463 1 0 262144 0 15 29
   8       0 sda 5 0 40 1 0 0 0 0 0 1 1
`
	want := map[string]uint64{"7:1": 262144 * 512}
	if got := parseTrimmed(text, []string{"7:1", "8:0", "9:0"}); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
