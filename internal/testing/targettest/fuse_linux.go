package targettest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Requests of FUSE. Source: include/uapi/linux/fuse.h.
const (
	FUSELookup      = 1
	FUSEForget      = 2
	FUSEGetattr     = 3
	FUSEOpen        = 14
	FUSERead        = 15
	FUSEStatfs      = 17
	FUSEInit        = 26
	FUSEAccess      = 34
	FUSEInterrupt   = 36
	FUSEBatchForget = 42
)

// SilentMount mounts a FUSE file system whose program receives all requests and does not answer the silent ones. Only
// this test's thread and its child processes see the mount. It has one file, image, of 1 MiB. Unanswered requests are
// sent to asked, unless the channel is full or nil.
func SilentMount(t *testing.T, asked chan<- uint32, silent func(request uint32) bool) (point string) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skip("no private mounts: " + err.Error())
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	point = filepath.Join(t.TempDir(), "silent")
	if err := os.Mkdir(point, 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no FUSE: " + err.Error())
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if err := unix.Mount("a program that hangs", point, "fuse.silent", flags, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_FORCE|unix.MNT_DETACH) }) // ends who waits
	go serveFUSE(fd, asked, silent)
	return point
}

// serveFUSE serves requests until the file system is unmounted.
func serveFUSE(fd int, asked chan<- uint32, silent func(request uint32) bool) {
	in := make([]byte, 1<<20)
	for {
		n, err := unix.Read(fd, in)
		if err != nil || n < 40 {
			return
		}
		request, node := binary.LittleEndian.Uint32(in[4:]), binary.LittleEndian.Uint64(in[16:])
		switch {
		case request == FUSEForget, request == FUSEBatchForget, request == FUSEInterrupt:
			continue // these have no answers
		case request != FUSEInit && silent(request):
			select {
			case asked <- request:
			default:
			}
			continue
		}
		answer, errno := fuseAnswer(request, node)
		out := binary.LittleEndian.AppendUint32(nil, uint32(16+len(answer)))
		out = binary.LittleEndian.AppendUint32(out, uint32(-int32(errno)))
		out = append(append(out, in[8:16]...), answer...) // the request's number is the answer's
		_, _ = unix.Write(fd, out)                        // the requester may have gone
	}
}

func fuseAnswer(request uint32, node uint64) ([]byte, syscall.Errno) {
	le := binary.LittleEndian
	attributes := func(node uint64) []byte {
		a := make([]byte, 88)
		le.PutUint64(a, node)
		le.PutUint32(a[60:], unix.S_IFDIR|0o755)
		if node != 1 {
			le.PutUint64(a[8:], 1<<20)
			le.PutUint32(a[60:], unix.S_IFREG|0o644)
		}
		le.PutUint32(a[64:], 1)
		le.PutUint32(a[80:], 4096)
		return a
	}
	switch request {
	case FUSEInit:
		a := make([]byte, 64)
		le.PutUint32(a, 7)
		le.PutUint32(a[4:], 31)
		le.PutUint32(a[20:], 1<<16) // the longest write
		return a, 0
	case FUSELookup:
		a := make([]byte, 40)
		le.PutUint64(a, 2)
		return append(a, attributes(2)...), 0
	case FUSEGetattr:
		return append(make([]byte, 16), attributes(node)...), 0
	case FUSEOpen:
		return make([]byte, 16), 0
	case FUSEStatfs:
		a := make([]byte, 80)
		le.PutUint32(a[40:], 4096)
		return a, 0
	}
	return nil, unix.ENOSYS
}
