package record_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/profile/record"
)

const format = `name: some_event
ID: 42
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:char rwbs[8];	offset:12;	size:8;	signed:0;
	field:int error;	offset:20;	size:4;	signed:1;
	field:__data_loc char[] cmd;	offset:24;	size:4;	signed:0;
	field:__rel_loc char[] name;	offset:28;	size:4;	signed:0;
	field:const char * pointer;	offset:32;	size:8;	signed:0;
	field:unsigned long args[];	offset:40;	size:0;	signed:0;

print fmt: "%d", REC->dev
`

const headerEvent = `# compressed entry header
	type_len    :    5 bits
	time_delta  :   27 bits
	array       :   32 bits

	padding     : type == 29
	time_extend : type == 30
	time_stamp : type == 31
	data max type_len  == 28
`

func TestFields(t *testing.T) {
	f, err := record.ParseEventFormat([]byte(format))
	if err != nil {
		t.Fatal(err)
	}
	if f.ID != 42 || f.Name != "some_event" || len(f.Fields) != 11 {
		t.Fatalf("read %+v", f)
	}
	data := []byte("\x2a\x00\x00\x00\x05\x00\x00\x00" + "\x03\x00\x10\x00" + "WS\x00trash" + "\xfb\xff\xff\xff" +
		"\x2d\x00\x03\x00" + "\x10\x00\x04\x00" + "12345678" + "a1a2a" + "cmd" + "name")
	field := func(name string) record.EventField {
		field, ok := f.Field(name)
		if !ok {
			t.Fatalf("no field %s in %+v", name, f)
		}
		return field
	}
	if got := field("dev").Uint(data); got != 1<<20+3 {
		t.Errorf("dev is %d", got)
	}
	if got := field("error").Int(data); got != -5 {
		t.Errorf("error is %d", got)
	}
	for name, want := range map[string]string{"rwbs": "WS", "cmd": "cmd", "name": "name", "pointer": "12345678",
		"args": "a1a2acmdname"} {
		if got := string(field(name).Text(data)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
		if got := string(field(name).Text(data[:9])); got != "" {
			t.Errorf("%s is %q in data that end before it", name, got)
		}
	}
	if got := field("rwbs"); got.Type != "char[8]" || field("pointer").Type != "const char *" {
		t.Errorf("types are %+v, %+v", got, field("pointer"))
	}
	if got := field("error").Uint(data[:21]); got != 0 {
		t.Errorf("a field that ends behind the data is %d", got)
	}
}

func TestReadFormats(t *testing.T) {
	files := func(header, page, event, text string) fstest.MapFS {
		return fstest.MapFS{"events/header_page": {Data: []byte(page)}, "events/header_event": {Data: []byte(header)},
			"events/" + event + "/format": {Data: []byte(text)}}
	}
	good := files(headerEvent, headerPage, "a/b", format)
	formats, err := record.ReadEventFormats(good, "a:b", "a:absent")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := formats.Event("a:absent"); ok {
		t.Error("an event that is absent has a format")
	}
	if f, ok := formats.Event("a:b"); !ok || f.ID != 42 {
		t.Errorf("a:b is %+v", f)
	}
	swapped := strings.Replace(format, "common_pid;	offset:4", "common_pid;	offset:12", 1)
	for name, bad := range map[string]fstest.MapFS{
		"empty":            {},
		"no header_event":  {"events/header_page": {Data: []byte(headerPage)}},
		"other header":     files(strings.Replace(headerEvent, "27", "28", 1), headerPage, "a/b", format),
		"other padding":    files(strings.Replace(headerEvent, "29", "28", 1), headerPage, "a/b", format),
		"other data":       files(strings.Replace(headerEvent, "== 28", "== 27", 1), headerPage, "a/b", format),
		"empty header":     files("", headerPage, "a/b", format),
		"page lacks":       files(headerEvent, "nothing", "a/b", format),
		"page overlaps":    files(headerEvent, strings.Replace(headerPage, "offset:16", "offset:12", 1), "a/b", format),
		"no format":        files(headerEvent, headerPage, "a/b", "nothing"),
		"number too large": files(headerEvent, headerPage, "a/b", strings.Replace(format, "42", "70000", 1)),
		"common elsewhere": files(headerEvent, headerPage, "a/b", swapped),
	} {
		if _, err := record.ReadEventFormats(bad, "a:b"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPagesOfAnInstance(t *testing.T) {
	formats, err := record.ReadEventFormats(fstest.MapFS{"events/header_page": {Data: []byte(headerPage)},
		"events/header_event": {Data: []byte(headerEvent)}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"4\n": 4096, "64\n": 65536, "0\n": 0, "x": 0, "-4": 0, "9999999\n": 0} {
		got, err := formats.OfInstance(fstest.MapFS{"buffer_subbuf_size_kb": {Data: []byte(text)}})
		if (err == nil) != (want > 0) || err == nil && got.Layout.Size != want {
			t.Errorf("%q: %d bytes, %v; want %d", text, got.Layout.Size, err, want)
		}
	}
	if got, err := formats.OfInstance(fstest.MapFS{}); err != nil || got.Layout.Size != 4096 {
		t.Errorf("without the file: %d, %v", got.Layout.Size, err)
	}
}

// EventFormats are read from a file of the kernel, but no content may cause a panic.
func FuzzFormats(f *testing.F) {
	f.Add(format, headerPage, headerEvent)
	f.Add("name: x\nID: 1\n\tfield:char a[;\toffset:9;\tsize:99999999999999999999;", "", "type_len ==")
	f.Fuzz(func(t *testing.T, format, page, event string) {
		if l, err := record.ParseHeaderPage([]byte(page)); err == nil {
			if p, err := l.Page(make([]byte, l.Size)); err == nil {
				p.Events(func(record.TracedEvent) bool { return true })
			}
		}
		_ = record.CheckHeaderEvent([]byte(event))
		if parsed, err := record.ParseEventFormat([]byte(format)); err == nil {
			for _, field := range parsed.Fields {
				_, _ = field.Uint([]byte("0123456789")), field.Bytes([]byte("0123456789"))
			}
		}
	})
}
