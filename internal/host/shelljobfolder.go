package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// jobBases are the folders that can hold the folders of jobs, the best first: in memory, so that the output of a load
// does not go to the disk that it loads. They depend on the user alone, because the next start must find the jobs of a
// killed one.
func (s *Shell) jobBases(l *link) []string {
	if s.jobs != "" {
		return []string{s.jobs}
	}
	bases := []string{fmt.Sprintf("/dev/shm/headroom-%d", l.uid), fmt.Sprintf("/run/user/%d/headroom", l.uid),
		fmt.Sprintf("/tmp/headroom-%d", l.uid), fmt.Sprintf("/var/tmp/headroom-%d", l.uid)}
	if strings.HasPrefix(l.home, "/") {
		bases = append(bases, path.Join(l.home, ".headroom-jobs"))
	}
	return bases
}

// makeFolder creates a folder with one of the scripts, in the first suitable base.
func (s *Shell) makeFolder(ctx context.Context, script, id string) (string, error) {
	l, err := s.connection(ctx)
	if err != nil {
		return "", err
	}
	bases := s.jobBases(l)
	// An interruption now would leave a folder that is recorded nowhere. The caller sees the interruption at its next
	// step.
	made, cancel := withGrace(ctx, folderGrace)
	defer cancel()
	out, err := s.script(made, "can't make a folder", script,
		append([]string{strconv.Itoa(l.uid), id, newToken()}, bases...)...)
	if err != nil {
		return "", err
	}
	word, dir, _ := strings.Cut(strings.TrimSuffix(out, "\n"), " ")
	switch word {
	case "made":
		return dir, nil
	case "foreign":
		return "", &lab.Error{Kind: lab.Refused, What: dir + " is not a private folder of this user", Target: s.Name(),
			Hints: []string{"find out who made it, and remove it"}}
	case "exists":
		return "", &lab.Error{What: "there is a job " + id + " already", Target: s.Name(), Err: fs.ErrExist}
	}
	return "", &lab.Error{What: "no folder can be written to for what a command leaves", Target: s.Name(),
		Hints: []string{"tried: " + strings.Join(bases, ", ")}}
}

// tokenBytes is the length of the random token that makes the name of a job's folder unpredictable.
const tokenBytes = 8

func newToken() string { return randomHex(tokenBytes) }

// folderName returns the name of the folder of a job.
func folderName(id, token string) string { return id + "." + token }

// jobOf returns the ID of the job whose folder has this name. Folders of copied files have no token.
//
//	7KQ4M2X9TD-1.5f0c7c1be3d94a26
func jobOf(name string) string {
	at := len(name) - 2*tokenBytes - 1
	if at < 0 || name[at] != '.' {
		return name
	}
	if _, err := hex.DecodeString(name[at+1:]); err != nil {
		return name
	}
	return name[:at]
}

// folderGrace is how long creating a folder, a round trip, can continue after an interruption.
const folderGrace = 20 * time.Second

// withGrace returns a context that ends some time after another.
func withGrace(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(by):
		case <-longer.Done():
		}
		cancel()
	})
	return longer, func() { stop(); cancel() }
}

// JobsBelow lists the IDs, beginning with prefix, of jobs whose folders still exist.
func (s *Shell) JobsBelow(ctx context.Context, prefix string) ([]string, error) {
	folders, err := s.jobFolders(ctx)
	var ids []string
	for _, dir := range folders {
		if id := jobOf(path.Base(dir)); strings.HasPrefix(id, prefix) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// jobFolders returns the folders of jobs in all bases.
func (s *Shell) jobFolders(ctx context.Context) ([]string, error) {
	l, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, base := range s.jobBases(l) {
		entries, err := reading(ctx, s, func(f remoteFiles) ([]fs.DirEntry, error) { return f.list(base) })
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &lab.Error{What: "can't look for jobs in " + base, Target: s.Name(), Err: err}
		}
		for _, e := range entries {
			if e.IsDir() {
				folders = append(folders, path.Join(base, e.Name()))
			}
		}
	}
	return folders, nil
}

// ClearJob ends whatever a crashed headroom left running under a job's ID, and deletes the job's folder.
func (s *Shell) ClearJob(ctx context.Context, id string) error {
	folders, err := s.jobFolders(ctx)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if jobOf(path.Base(dir)) != id {
			continue
		}
		if err := s.kill(ctx, dir, 0, 0); err != nil {
			return err
		}
		if _, err := s.script(ctx, "can't remove "+dir, removeScript, dir); err != nil {
			return err
		}
		// A process that was being started when headroom was killed may have entered the folder meanwhile.
		if err := s.kill(ctx, dir, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, according to its documentation
	return hex.EncodeToString(b)
}
