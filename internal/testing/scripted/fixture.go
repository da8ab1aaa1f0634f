package scripted

import (
	_ "embed"
	"fmt"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/txtar"
)

//go:embed server.txtar
var server []byte

// load reads a machine from text. It has sections of lines: files (PATH = TEXT), links (PATH -> WHERE), devices (PATH
// MAJOR:MINOR), folders and closed, for paths that can't be read; sections with the path of a file and its content, and
// sections "$ COMMAND" with a command's output. Words in braces are filled in.
func (m *Machine) load(text []byte, fill *strings.Replacer) error {
	for _, section := range txtar.Parse(text).Files {
		data := fill.Replace(string(section.Data))
		if command, ok := strings.CutPrefix(section.Name, "$ "); ok {
			m.answers[command] = Output{Stdout: data}
			continue
		}
		for line := range strings.Lines(data) {
			line = strings.TrimSuffix(line, "\n")
			var ok = line != ""
			switch section.Name {
			case "files":
				var name, value string
				if name, value, ok = strings.Cut(line, " ="); ok {
					m.Set(name, strings.TrimPrefix(value, " "))
				}
			case "links":
				var name, to string
				if name, to, ok = strings.Cut(line, " -> "); ok {
					m.Link(name, to)
				}
			case "devices":
				var name, number string
				if name, number, ok = strings.Cut(line, " "); ok {
					m.tree.mu.Lock()
					m.tree.put(name, m.tree.device(number))
					m.tree.mu.Unlock()
				}
			case "folders":
				m.Folder(line)
			case "closed":
				m.Close(line, syscall.EACCES)
			default:
				m.Set("/"+section.Name, strings.TrimSuffix(data, "\n"))
				ok = true
			}
			if !ok {
				return fmt.Errorf("in the section %q: %q is no line of it", section.Name, line)
			}
		}
	}
	return nil
}
