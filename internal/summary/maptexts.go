package summary

import (
	"reflect"
	"slices"
	"time"
)

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

// left says whether a field of a type is one of those that are left as they are.
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
