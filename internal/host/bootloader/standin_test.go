package bootloader

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// standIn replaces a host: a tree of files, and the few commands that booting needs, reimplemented here. It starts
// kernels like GRUB, systemd-boot and kexec, as far as that is documented; the system tier uses the real ones.
type standIn struct {
	root string
	// answers to commands, by the whole line, checked first: the peculiarities of this host.
	answers map[string]host.Output
	// ran are all commands that were run.
	ran []string
	// hangs is set for a host that does not come back.
	hangs, down bool
	// keepsNext is set for a GRUB that can't write its environment block, ignores for one that boots its default entry
	// anyway.
	keepsNext, ignores bool
	// failAt cuts the connection at this command, counted from 1.
	failAt, calls int

	// natural and release describe its default boot; loaded and image are loaded for kexec.
	natural, release, loaded, image string
	boots                           int
}

var errCut = errors.New("the connection was cut")

// newStandIn returns a host with the files of a fixture.
func newStandIn(t *testing.T, fixture string) *standIn {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", fixture+".txtar"))
	if err != nil || len(archive.Files) == 0 {
		t.Fatalf("%d files in %s: %v", len(archive.Files), fixture, err)
	}
	s := &standIn{root: t.TempDir(), answers: map[string]host.Output{}}
	for _, f := range archive.Files {
		s.write(t, f.Name, string(f.Data))
	}
	s.natural, s.release = s.text(cmdlinePath), s.text(releasePath)
	s.write(t, kexecLoaded, "0\n")
	s.write(t, kexecDisabled, "0\n")
	return s
}

func (s *standIn) at(name string) string { return filepath.Join(s.root, name) }

func (s *standIn) text(name string) string {
	data, _ := os.ReadFile(s.at(name))
	return string(data)
}

func (s *standIn) put(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(s.at(name)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.at(name), []byte(text), 0o644)
}

func (s *standIn) write(t *testing.T, name, text string) {
	t.Helper()
	if err := s.put(name, text); err != nil {
		t.Fatal(err)
	}
}

// efi writes an EFI variable that contains text.
func (s *standIn) efi(name, text string) error {
	data := []byte{6, 0, 0, 0}
	for _, u := range append(utf16.Encode([]rune(text)), 0) {
		data = binary.LittleEndian.AppendUint16(data, u)
	}
	return s.put("sys/firmware/efi/efivars/"+name+"-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f", string(data))
}

func (s *standIn) efiText(name string) string {
	return EFIText([]byte(s.text("sys/firmware/efi/efivars/" + name + "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")))
}

func (s *standIn) Name() string { return "ssh://root@db1" }
func (s *standIn) FS() fs.FS    { return os.DirFS(s.root) }

// cut counts the calls that reach the host, and fails the one selected by the test.
func (s *standIn) cut() error {
	s.calls++
	if s.down || s.calls == s.failAt {
		return errCut
	}
	return nil
}

func (s *standIn) ReadFiles(_ context.Context, paths ...string) (map[string]host.File, error) {
	if s.down {
		return nil, errCut
	}
	files := map[string]host.File{}
	for _, p := range paths {
		data, err := os.ReadFile(s.at(p))
		files[p] = host.File{Data: data, Err: err}
	}
	return files, nil
}

func (s *standIn) Run(_ context.Context, argv ...string) (host.Output, error) {
	if err := s.cut(); err != nil {
		return host.Output{}, err
	}
	line := lab.ShellQuote(argv)
	s.ran = append(s.ran, line)
	if out, ok := s.answers[line]; ok {
		return out, nil
	}
	printed, err := s.carryOut(argv)
	if err != nil {
		return host.Output{Stderr: []byte(err.Error()), ExitCode: 1}, nil
	}
	return host.Output{Stdout: []byte(printed)}, nil
}

func (s *standIn) carryOut(argv []string) (string, error) {
	name := strings.Replace(argv[0], "grub2-", "grub-", 1)
	if _, err := os.Stat(s.at("boot/grub2")); strings.HasPrefix(argv[0], "grub") &&
		strings.HasPrefix(argv[0], "grub2-") != (err == nil) {
		return "", errors.New("not found")
	}
	switch {
	case name == "id":
		return "0\n", nil
	case name == "sync" || name == "grub-script-check" || argv[len(argv)-1] == "--version":
		return "", nil
	case name == "systemctl" && argv[1] == "is-system-running":
		return "running\n", nil
	case name == "grub-probe" && argv[1] == "--target=fs":
		return "ext2\n", nil
	case name == "grub-probe":
		return "\n", nil
	case name == "grub-editenv":
		return s.editEnvironment(argv[1], argv[2], argv[3:])
	case name == "rm":
		return "", os.Remove(s.at(argv[len(argv)-1]))
	case name == "bootctl" && argv[1] == "--print-boot-path":
		return "/boot/efi\n", nil
	case name == "bootctl" && argv[1] == "set-oneshot" && argv[2] == "":
		return "", os.Remove(s.at("sys/firmware/efi/efivars/LoaderEntryOneShot-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"))
	case name == "bootctl" && argv[1] == "set-oneshot":
		return "", s.efi("LoaderEntryOneShot", argv[2])
	case name == "kexec" && argv[1] == "--load":
		s.image = argv[len(argv)-1]
		for _, a := range argv {
			if text, ok := strings.CutPrefix(a, "--command-line="); ok {
				s.loaded = text
			}
		}
		return "", s.put(kexecLoaded, "1\n")
	case name == "kexec" && argv[1] == "--unload":
		s.loaded = ""
		return "", s.put(kexecLoaded, "0\n")
	case name == "systemctl" && (argv[1] == "reboot" || argv[1] == "kexec"):
		return "", s.reboot(argv[1] == "kexec")
	}
	return "", errors.New("the stand-in has no " + lab.ShellQuote(argv))
}

func (s *standIn) editEnvironment(file, command string, args []string) (string, error) {
	set := parseEnvironment(s.text(file))
	switch command {
	case "set":
		name, value, _ := strings.Cut(args[0], "=")
		set[name] = value
	case "unset":
		delete(set, args[0])
	}
	text := ""
	for name, value := range set {
		text += name + "=" + value + "\n"
	}
	return text, s.put(file, "# GRUB Environment Block\n"+text+"######")
}

// reboot starts the entry that the loader would start.
func (s *standIn) reboot(kexec bool) error {
	s.boots++
	cmdline, release := s.natural, s.release
	for _, dir := range []string{"/boot/grub", "/boot/grub2"} {
		set := parseEnvironment(s.text(dir + "/grubenv"))
		if set["next_entry"] != onceID {
			continue
		}
		if !s.keepsNext {
			if _, err := s.editEnvironment(dir+"/grubenv", "unset", []string{"next_entry"}); err != nil {
				return err
			}
		}
		for _, e := range grubEntries(s.text(dir + "/custom.cfg")) {
			cmdline, release = "BOOT_IMAGE="+e.kernel+" "+asGRUB(e.body[e.linux]), versionOf(e.kernel)
		}
	}
	if entry := s.efiText("LoaderEntryOneShot"); entry != "" {
		if _, err := s.carryOut([]string{"bootctl", "set-oneshot", ""}); err != nil {
			return err
		}
		e := parseLoaderEntry(entry, s.text("boot/efi/loader/entries/"+entry))
		cmdline, release = `initrd=\x `+strings.Join(e.values("options"), " "), filepath.Base(filepath.Dir(e.kernel()))
	}
	if kexec {
		cmdline, release = s.loaded, versionOf(s.image)
	}
	if s.ignores {
		cmdline, release = s.natural, s.release
	}
	s.loaded, s.down = "", s.hangs
	return errors.Join(s.put(kexecLoaded, "0\n"), s.put(cmdlinePath, cmdline), s.put(releasePath, release),
		s.put(host.BootIDFile, strings.Repeat("x", s.boots)))
}

// powerCycle starts the host like a technician who finds it hanging.
func (s *standIn) powerCycle() error {
	s.hangs, s.down = false, false
	return s.reboot(false)
}

// asGRUB converts a linux line to the arguments that GRUB passes to the kernel, like grub_create_loader_cmdline.
func asGRUB(line string) string {
	_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
	_, line, _ = strings.Cut(line, " ")
	var words []string
	word, quoted, begun := "", false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == '\\' && !quoted && i+1 < len(line):
			i++
			word += line[i : i+1]
		case c == ' ' && !quoted:
			if begun {
				words = append(words, word)
			}
			word, begun = "", false
		default:
			word, begun = word+line[i:i+1], true
		}
	}
	if begun {
		words = append(words, word)
	}
	for i, w := range words {
		words[i] = escape(w)
		if strings.Contains(w, " ") {
			words[i] = `"` + escape(w) + `"`
		}
	}
	return strings.Join(words, " ")
}

// Start runs dd, the only job that booting needs.
func (s *standIn) Start(_ context.Context, spec host.JobSpec) (host.Job, error) {
	if err := s.cut(); err != nil {
		return nil, err
	}
	s.ran = append(s.ran, lab.ShellQuote(spec.Argv))
	j := &standInJob{done: make(chan struct{})}
	close(j.done)
	file, ok := strings.CutPrefix(spec.Argv[1], "of=")
	if spec.Argv[0] != "dd" || !ok || spec.Argv[2] != "conv=excl,fsync" {
		return nil, errors.New("the stand-in has no " + lab.ShellQuote(spec.Argv))
	}
	if _, err := os.Stat(s.at(file)); err == nil {
		j.code = 1
		return j, nil
	}
	return j, s.put(file, string(spec.Stdin))
}

type standInJob struct {
	done chan struct{}
	code int
}

func (j *standInJob) ID() string            { return onceID }
func (j *standInJob) Dir() string           { return "/dev/shm/" + onceID }
func (j *standInJob) Done() <-chan struct{} { return j.done }
func (j *standInJob) Poll(context.Context) (host.JobState, error) {
	return host.JobState{Done: true, ExitCode: j.code}, nil
}
func (j *standInJob) Size(context.Context, ...string) (int64, error)      { return 0, nil }
func (j *standInJob) Fetch(context.Context, string) ([]byte, error)       { return nil, nil }
func (j *standInJob) Tail(context.Context, string, int64) ([]byte, error) { return nil, nil }
func (j *standInJob) Kill(context.Context, time.Duration) error           { return nil }
func (j *standInJob) Remove(context.Context) error                        { return nil }
