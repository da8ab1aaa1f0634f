package saved

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unpack"
)

// Bounds of what is read: an archive is a stranger's. Files of /proc and /sys are small; the largest that facts need
// are tables of mounts and of modules.
const (
	maxFile    = 8 << 20
	maxKept    = 256 << 20
	maxEntries = 1 << 20
	maxStream  = 64 << 30
)

// needless are folders of reports that hold no facts and most of the bytes.
var needless = prose.Pattern(`(^|/)(var/log|sos_logs|sos_reports|sos_strings|journal|namespaces|pods|lost\+found)/`)

// tarHead is how much of a file is needed to recognise a tar archive.
const tarHead = 512

// isTar looks for the mark of a tar archive, which is not at the beginning. Source: POSIX, pax, ustar interchange
// format.
func isTar(head []byte) bool {
	return len(head) >= tarHead && bytes.Equal(head[257:262], []byte("ustar"))
}

// isZip looks for the mark of a zip archive's first entry.
func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// IsArchive reports whether a file is a tar archive, compressed or not, or a zip archive.
func IsArchive(from io.ReaderAt) bool {
	head := make([]byte, 4)
	if _, err := from.ReadAt(head, 0); err != nil {
		return false
	}
	if isZip(head) {
		return true
	}
	in, err := unpack.Reader(io.NewSectionReader(from, 0, 1<<62))
	if err != nil {
		return bytes.HasPrefix(head, []byte("\xfd7z")) // its reader says why it can't be read
	}
	first := make([]byte, tarHead)
	n, _ := io.ReadFull(in, first)
	return isTar(first[:n])
}

// keeper puts the entries of an archive into a tree.
type keeper struct {
	tree          collect.Tree
	kept, entries int64
	unread        []string
}

// add takes an entry. Names that lead out of the archive stay within: the tree has nothing above its root.
func (k *keeper) add(name string, mode fs.FileMode, link string, size int64, open func() (io.Reader, error)) error {
	if k.entries++; k.entries > maxEntries {
		return fmt.Errorf("it has more than %d entries", maxEntries)
	}
	name = path.Clean("/" + name)
	switch {
	case mode.IsDir() && name != "/":
		if _, err := k.tree.Lstat(collect.PathInFS(name)); err != nil {
			k.tree.Put(name, &collect.Node{Names: map[string]*collect.Node{}})
		}
	case mode&fs.ModeSymlink != 0 && link != "":
		k.tree.Link(name, link)
	case mode.IsRegular() && !needless().MatchString(name):
		n := &collect.Node{}
		k.tree.Put(name, n)
		if size > maxFile || k.kept+size > maxKept {
			err := fmt.Errorf("too large to be read: %d MiB", max(1, size>>20))
			n.Read = func() (string, error) { return "", err }
			k.unread = append(k.unread, strings.TrimPrefix(name, "/")+": "+err.Error())
			return nil
		}
		from, err := open()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(from, min(maxFile, maxKept-k.kept)))
		k.kept += int64(len(data)) + 200
		n.Data = string(data)
		return err
	}
	return nil
}

// readArchive reads what an archive holds into memory.
func readArchive(from io.ReaderAt, size int64) (*keeper, error) {
	k := &keeper{tree: collect.Tree{Root: &collect.Node{Names: map[string]*collect.Node{}}}}
	head := make([]byte, 4)
	if _, err := from.ReadAt(head, 0); err == nil && isZip(head) {
		return k, k.readZip(from, size)
	}
	in, err := unpack.Reader(io.NewSectionReader(from, 0, size))
	if err != nil {
		return k, err
	}
	bounded := &io.LimitedReader{R: in, N: maxStream}
	archive := tar.NewReader(bounded)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) && bounded.N > 0 {
			return k, nil
		}
		if err == nil {
			mode := h.FileInfo().Mode()
			link := h.Linkname
			if h.Typeflag == tar.TypeLink { // another name of an entry before
				mode, link = fs.ModeSymlink, "/"+link
			}
			err = k.add(h.Name, mode, link, h.Size, func() (io.Reader, error) { return archive, nil })
		}
		if err != nil {
			if k.entries > 1 && !errors.Is(err, tar.ErrHeader) && k.entries <= maxEntries {
				k.unread = append(k.unread, "the rest of the archive, which is cut off or damaged: "+err.Error())
				return k, nil
			}
			return k, err
		}
	}
}

func (k *keeper) readZip(from io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(from, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	for _, f := range archive.File {
		open := func() (io.Reader, error) { return f.Open() }
		link := ""
		if f.Mode()&fs.ModeSymlink != 0 {
			if in, err := open(); err == nil {
				to, _ := io.ReadAll(io.LimitReader(in, 4096))
				link = string(to)
			}
		}
		if err := k.add(f.Name, f.Mode(), link, int64(f.UncompressedSize64), open); err != nil {
			k.unread = append(k.unread, f.Name+": "+err.Error())
			if k.entries > maxEntries {
				return err
			}
		}
	}
	return nil
}

// folderNode is a folder of this machine, read when it is asked for. No link leads out of the root, and nothing but
// regular files is opened: a pipe would wait for ever.
func folderNode(root *os.Root, name string) *collect.Node {
	return &collect.Node{Fill: sync.OnceValues(func() (map[string]*collect.Node, error) {
		dir, err := root.Open(name)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		entries, err := dir.ReadDir(maxEntries)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		names := make(map[string]*collect.Node, len(entries))
		for _, e := range entries {
			below := path.Join(name, e.Name())
			switch kind := e.Type(); {
			case kind.IsDir():
				names[e.Name()] = folderNode(root, below)
			case kind&fs.ModeSymlink != 0:
				if to, err := root.Readlink(below); err == nil {
					names[e.Name()] = collect.LinkTo(to)
				}
			case kind.IsRegular():
				names[e.Name()] = &collect.Node{Read: sync.OnceValues(func() (string, error) {
					return readBounded(root, below)
				})}
			}
		}
		return names, nil
	})}
}

func readBounded(root *os.Root, name string) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return string(data), err
}
