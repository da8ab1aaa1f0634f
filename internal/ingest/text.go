package ingest

import (
	"bytes"
	"fmt"
	"path"
	"regexp"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/prose"
)

// fioText reads text copied from a terminal or a page: prompts, command lines, any of the lines that fio prints for
// people, and any text between them.
//
//	root@pve01:/mnt/pve/rdma# fio --name=fiotest --ioengine=io_uring --iodepth=1 --rw=randread --bs=8k --size=1G
//	   bw (  KiB/s): min=106624, max=131440, per=99.95%, avg=128103.58, stdev=5284.67, samples=19
//	   iops        : min=13328, max=16430, avg=16012.95, stdev=660.58, samples=19
//
// The command line determines the load. Headings and tables around it are not read: in reports they often name the
// wrong load.
func fioText() Importer {
	prompt := promptPattern()
	return Importer{
		Name:  "fio-text",
		Title: "fio's output for people and its terse output (versions 3 to 5), copied from a terminal with its command line",
		Units: "KiB and MiB are binary, MB in brackets 1,000,000; of fio 2, KB and MB are binary; a k of IOPS is 1000",
		Sniff: func(_ string, head []byte) bool {
			return bytes.Contains(head, []byte("(groupid=")) || bytes.Contains(head, []byte(": IOPS=")) ||
				bytes.Contains(head, []byte("Run status group ")) || bytes.Contains(head, []byte(";fio-")) ||
				firstCommand(head) > 0
		},
		read: func(f file, d *runBuilder) error { return readText(f, prompt, d) },
		text: true,
		alone: func(text []byte) bool {
			return bytes.Contains(text, []byte("(groupid=")) || bytes.Contains(text, []byte("Run status group ")) ||
				firstCommand(text) > 0 && (!bytes.Contains(text, []byte(`"fio version"`)) || figuresLine().Match(text))
		},
	}
}

// figuresLine matches a line of fio's output for people. A command may be followed by JSON instead.
var figuresLine = prose.Pattern(`(?m)^[^"\n]*(?:: IOPS=|\biops[\pZ]*: min=|\bbw[\pZ]+\([\pZ]*[KMG]i?B/s)`)

// promptPattern finds user, host and directory in a prompt: "root@pve01:/mnt/pve/rdma# ", "[root@pve01 /mnt]$ ".
func promptPattern() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\[?[\w.-]+@([\w.-]+)[: ]\s*(\S*?)\]?\s*[#$%>]\s`)
}

// firstCommand returns the number of the first line that calls fio; 0 if there is none.
func firstCommand(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if bytes.Contains(line, []byte("fio")) && fio.Command(string(line)) != nil {
			return n
		}
	}
	return 0
}

// exampleLine shows the expected text in errors.
const exampleLine = `"read: IOPS=5312, BW=20.8MiB/s …" or "iops : min=…, avg=…"`

func readText(f file, prompt *regexp.Regexp, d *runBuilder) error {
	blocks, lost, err := fio.ParseText(bytes.NewReader(f.data))
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		if n := firstCommand(f.data); n > 0 {
			return fmt.Errorf("line %d: expected fio's output below this command, such as %s, found none",
				f.before+n, exampleLine)
		}
		return fmt.Errorf("expected lines such as %s, found none that belong to a job", exampleLine)
	}
	if len(lost) > 0 {
		d.warn(lab.Warning{Code: "import-left-out",
			Text: fmt.Sprintf("%s left out, because neither a command nor the name of a job stands before: the first is "+
				"line %d of %s", counted(len(lost), "line with rates was", "lines with rates were"),
				f.before+lost[0], f.name)})
	}
	lines := bytes.Split(f.data, []byte("\n"))
	for _, b := range blocks {
		where := promptOf(prompt, string(lines[min(b.Prompt, len(lines))-1]))
		err := addDocument(f, b.Document, d, func(m *measurement) {
			m.repetition.Command = b.Command
			m.line = f.before + b.Line
			m.host = where.host
			if m.place.Kind == "" && path.IsAbs(where.dir) {
				m.place = lab.Place{Kind: lab.Directory, Path: where.dir}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type promptLocation struct{ host, dir string }

func promptOf(prompt *regexp.Regexp, line string) promptLocation {
	m := prompt.FindStringSubmatch(line)
	if m == nil {
		return promptLocation{}
	}
	return promptLocation{host: m[1], dir: m[2]}
}
