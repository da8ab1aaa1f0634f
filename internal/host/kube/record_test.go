package kube

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestRecords(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "pods")
	if left, err := Pending(folder, anyFile); err != nil || len(left) != 0 {
		t.Errorf("without a folder: %v, %v", left, err)
	}
	j, err := newJournal(folder, "abc")
	if err != nil {
		t.Fatal(err)
	}
	want := Record{Target: "kube:pod?class=fast", Session: "abc", Server: "https://h:6443", Namespace: "n",
		Pods: []string{"headroom-abc"}, Claims: []string{"headroom-abc"}}
	for range 2 {
		if err := j.save(want); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := Pending(folder, anyFile); err != nil || len(left) != 0 {
		t.Errorf("while its headroom lives: %v, %v", left, err)
	}
	if err := j.release(); err != nil {
		t.Fatal(err)
	}
	left, err := Pending(folder, anyFile)
	if err != nil || len(left) != 1 || !reflect.DeepEqual(left[0].Record, want) {
		t.Fatalf("%+v, %v", left, err)
	}
	if again, err := Pending(folder, anyFile); err != nil || len(again) != 0 {
		t.Errorf("two clear it at the same time: %v, %v", again, err)
	}
	if err := left[0].Release(); err != nil {
		t.Fatal(err)
	}
	if left, err = Pending(folder, anyFile); err != nil || len(left) != 1 {
		t.Fatalf("%+v, %v", left, err)
	}
	if err := left[0].Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := Pending(folder, anyFile); err != nil || len(left) != 0 {
		t.Errorf("after it was forgotten: %v, %v", left, err)
	}
}

// A headroom that was killed before it wrote anything has made nothing; a record that is damaged is not forgotten.
func TestRecordsThatWereCutOff(t *testing.T) {
	folder := t.TempDir()
	empty, damaged := filepath.Join(folder, "a"+recordSuffix), filepath.Join(folder, "b"+recordSuffix)
	for path, text := range map[string]string{empty: "", damaged: `{"target": "kube:`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, err := Pending(folder, anyFile)
	if err == nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := os.Stat(empty); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the empty one is still there: %v", err)
	}
	if _, err := os.Stat(damaged); err != nil {
		t.Errorf("the damaged one: %v", err)
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"target":"kube:pod","session":"abc","server":"https://h","namespace":"n","pods":["p"]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := readRecord(data); err == nil && (r.Session == "" || r.Namespace == "") {
			t.Errorf("%+v", r)
		}
	})
}

// anyFile is trusted: who may write to it is tested where that is decided.
func anyFile(string) error { return nil }
