package summary

import (
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
)

// identifying are the facts of a run by which it is known what names hardware and hosts. The servers of mounts that are
// levels are among them: only the first is found on a target.
func identifying(targets []lab.RunTarget, e *lab.Experiment) []lab.Fact {
	var all []lab.Fact
	for _, t := range targets {
		all = append(all, t.Facts...)
	}
	if e == nil {
		return all
	}
	for _, v := range e.Factors {
		for _, level := range v.Levels {
			if v.Factor != mount.NFSFactor {
				continue
			}
			m, err := mount.ParseNFS(level)
			for _, a := range m.Addresses {
				if err == nil {
					all = append(all, lab.Fact{Key: addressKey, Value: a.String()})
				}
			}
		}
	}
	return all
}

// addressKey is a fact whose value is the address of a host.
const addressKey = "mount.nfs.server"

// roles are the fields that hold roles of targets, and names made of them: "server:sysctl:net.core.rmem_max" is a
// factor, and a key of levels.
func roles() []string {
	return []string{"ID", "Role", "FactsAs", "Arm", "Arms", "Cell", "Cells", "Client", "Server", "End", "Factor",
		mapKeys}
}

// hashes are fields with hashes of commits and contents, and IDs of boots. They look like names of hardware, but
// identify neither a machine nor a person.
func hashes() []string { return []string{"Commits.Good", "Commits.Bad", "Kernels.Sums", "Boot"} }

// Redact returns the run without what names one piece of hardware or one host: not in its facts, and not where any text
// repeats it (/dev/disk/by-id/nvme-MODEL_SERIAL does). What that is, package facts knows. The run given is left as it
// is. Names shows those by which targets are told apart. Roles are hidden where they are names: a node of a cluster has
// its own. Where one machine is a client and another a server, roles say what they do.
func Redact(s Run, names bool) Run {
	known := identifying(s.Targets, s.Experiment)
	if names {
		known = slices.DeleteFunc(known, func(f lab.Fact) bool {
			return slices.ContainsFunc(s.Targets, func(t lab.RunTarget) bool { return named(f, t.Role) })
		})
	}
	redactor := facts.NewRedactor(known)
	if names {
		redactor = redactor.WithTargets()
	}
	but := hashes()
	if len(s.Targets) < 2 || s.Experiment != nil || s.Study != nil || len(s.Network) > 0 {
		but = append(but, roles()...)
	}
	of := s.Targets
	s.Targets = WithoutFacts(s).Targets
	s = mapTexts(s, redactor.Text, but...)
	for i, t := range of {
		for _, f := range t.Facts {
			s.Targets[i].Facts = append(s.Targets[i].Facts, redactor.Fact(f))
		}
	}
	return s
}

// HiddenIn hides in texts about a run what names one piece of hardware. Targets keep their names, as in Redact with
// names.
func HiddenIn(run lab.Run) func(text string) string {
	known := slices.DeleteFunc(identifying(run.Targets, run.Experiment), func(f lab.Fact) bool {
		return slices.ContainsFunc(run.Targets, func(t lab.RunTarget) bool { return named(f, t.Role) })
	})
	return facts.NewRedactor(known).WithTargets().Text
}

// named reports whether a role is the name of a target, or its first part.
func named(f lab.Fact, role string) bool {
	return role != "" && (f.Value == role || strings.HasPrefix(f.Value, role+"."))
}

// WithoutFacts returns the run without what is known of its machines. The run given is left as it is.
func WithoutFacts(s Run) Run {
	s.Targets = slices.Clone(s.Targets)
	for i := range s.Targets {
		s.Targets[i].Facts = nil
	}
	return s
}

// RedactRun is a run with several arms and its repetitions as an experiment's report reads them, without what names one
// piece of hardware or one host in any text. The facts stay: ceilings are made of them.
func RedactRun(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) (lab.Run, iter.Seq2[lab.Repetition, error]) {
	clean := facts.NewRedactor(identifying(run.Targets, run.Experiment)).Text
	but := append(hashes(), roles()...)
	of := run.Targets
	run.Targets = make([]lab.RunTarget, len(of))
	for i, t := range of {
		run.Targets[i] = t
		run.Targets[i].Facts = nil
	}
	run = mapTexts(run, clean, but...)
	for i, t := range of {
		run.Targets[i].Facts = t.Facts
	}
	return run, func(yield func(lab.Repetition, error) bool) {
		for r, err := range repetitions {
			if !yield(mapTexts(r, clean, but...), err) {
				return
			}
		}
	}
}

// WithoutSerials is a document for others: without what names one piece of hardware or one host of the runs that it was
// made of.
func WithoutSerials(d document.Document, runs ...lab.Run) document.Document {
	return d.Rewritten(Hiding(runs...))
}

// Hiding makes of any text about some runs one for others, as WithoutSerials does of those of a document.
func Hiding(runs ...lab.Run) func(text string) string {
	var known []lab.Fact
	for _, run := range runs {
		known = append(known, identifying(run.Targets, run.Experiment)...)
	}
	return facts.NewRedactor(known).Text
}

// mapTexts returns a copy of a value in which every text, however deep, was passed through clean: keys of maps, too,
// so that what is found by its name still is. A text that is added to a document tomorrow is reached as well. Texts and
// lists of texts in fields of these names ("Role", "Commits.Good") are left as they are, and so are types that are
// words of a list (a status, a verdict). The value given is not changed.
func mapTexts[T any](v T, clean func(string) string, but ...string) T {
	c := cleaner{clean, but, map[reflect.Type]bool{}}
	return c.copy(reflect.ValueOf(&v).Elem()).Interface().(T)
}

// mapKeys stands for the keys of all maps among the names of what is left as it is.
const mapKeys = "keys of maps"

type cleaner struct {
	clean func(string) string
	but   []string
	// texts says of types whether they hold any: series of numbers are not copied.
	texts map[reflect.Type]bool
}

func (c cleaner) copy(v reflect.Value) reflect.Value {
	t := v.Type()
	if !c.holdsText(t) {
		return v
	}
	out := reflect.New(t).Elem()
	out.Set(v)
	switch t.Kind() {
	case reflect.String:
		out.SetString(c.clean(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(t.Elem()))
			out.Elem().Set(c.copy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(c.copy(v.Index(i)))
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(c.copy(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(t, v.Len()))
		}
		for _, key := range v.MapKeys() {
			name := key
			if !slices.Contains(c.but, mapKeys) {
				name = c.copy(key)
			}
			out.SetMapIndex(name, c.copy(v.MapIndex(key)))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !c.left(t, f) {
				out.Field(i).Set(c.copy(v.Field(i)))
			}
		}
	}
	return out
}

// left reports whether a field of a type is one of those that are left as they are.
func (c cleaner) left(t reflect.Type, f reflect.StructField) bool {
	text := f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.String
	return text && (slices.Contains(c.but, f.Name) || slices.Contains(c.but, t.Name()+"."+f.Name))
}

func (c cleaner) holdsText(t reflect.Type) bool {
	if holds, known := c.texts[t]; known {
		return holds
	}
	c.texts[t] = false // of a type that holds itself
	holds := false
	switch t.Kind() {
	case reflect.String:
		holds = t == reflect.TypeFor[string]()
	case reflect.Pointer, reflect.Slice, reflect.Array:
		holds = c.holdsText(t.Elem())
	case reflect.Map:
		holds = c.holdsText(t.Key()) || c.holdsText(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); t != reflect.TypeFor[time.Time]() && f.IsExported() {
				holds = c.holdsText(f.Type) || holds
			}
		}
	}
	c.texts[t] = holds
	return holds
}
