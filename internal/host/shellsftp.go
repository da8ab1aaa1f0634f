package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/pkg/sftp"
)

// sftpFiles reads over the SFTP protocol: one resident process on the host, no process per file, and the requests of
// many goroutines in flight at the same time. A snapshot of facts reads thousands of small files.
type sftpFiles struct {
	client *sftp.Client
	*Session
	ended chan struct{}
	// buffers for reading files, each *[chunk]byte.
	buffers sync.Pool
}

// sftpServers is where distributions keep OpenSSH's server: Debian, Fedora, Arch and SUSE and Alpine, FreeBSD's layout.
const sftpServers = "/usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server " +
	"/usr/libexec/sftp-server"

const sftpLimit = 20 * time.Second

// openSFTP starts an SFTP server on the host, and returns nil if there is none. It tries the program first, for two
// reasons: start-up files that print spoil the protocol of the subsystem, but not of the program; and a subsystem that
// is configured to log writes a line into the host's log for each of thousands of files. The subsystem is for sshd's
// built-in server.
func openSFTP(l *link) remoteFiles {
	mark := randomHex(16)
	line := "m=" + mark + ";for p in " + sftpServers + `;do if [ -x $p ];then printf '\n%s\n' $m;exec $p;fi;done` + "\n"
	if f := handshake(l.Shell, line, mark); f != nil {
		return f
	}
	if f := handshake(l.SFTP, "", ""); f != nil {
		return f
	}
	return nil
}

// handshake starts a server and negotiates the protocol; nil if that fails.
func handshake(start func(stdout, stderr io.Writer) (*Session, error), line, mark string) remoteFiles {
	stdout, printed := io.Pipe()
	session, err := start(printed, io.Discard)
	if err != nil || session == nil {
		return nil
	}
	go func() {
		<-session.Ended
		_ = printed.Close()
	}()
	late := time.AfterFunc(sftpLimit, session.Kill)
	defer late.Stop()
	give := func() remoteFiles {
		session.Kill()
		_ = stdout.Close() // discard further output
		<-session.Ended
		return nil
	}
	if _, err := io.WriteString(session.Stdin, line); err != nil {
		return give()
	}
	from := bufio.NewReaderSize(stdout, 1<<16)
	for mark != "" {
		text, err := from.ReadString('\n')
		if err != nil {
			return give()
		}
		if text == mark+"\n" {
			break
		}
	}
	client, err := sftp.NewClientPipe(from, session.Stdin)
	if err != nil {
		return give()
	}
	f := &sftpFiles{client: client, Session: session, ended: make(chan struct{}), buffers: sync.Pool{New: func() any {
		return new([chunk]byte)
	}}}
	go func() {
		_ = client.Wait() // after it has read to the end of the output
		session.Kill()
		_ = stdout.Close()
		<-session.Ended
		close(f.ended)
	}()
	return f
}

func (f *sftpFiles) close(patience time.Duration) {
	late := time.AfterFunc(patience, f.Kill)
	defer late.Stop()
	_ = f.client.Close()
	<-f.ended
}

// sftpError distinguishes errors of the file from errors of the connection.
func sftpError(err error) error {
	if err == nil || err == io.EOF || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	status, ok := errors.AsType[*sftp.StatusError](err)
	if !ok || errors.Is(err, sftp.ErrSSHFxConnectionLost) {
		return fmt.Errorf("%w: %w", errConnectionLost, err)
	}
	if status.FxCode() == sftp.ErrSSHFxFailure {
		return errors.New("it can't be read (SFTP does not say why)")
	}
	return err
}

// sftpFile is an open file. Each Read requests as many bytes as its buffer has room for and no more: the configuration
// space of a PCI device must not be read further.
type sftpFile struct {
	*sftp.File
	name string
}

func (f sftpFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, sftpError(err)
}

func (f sftpFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		return nil, sftpError(err)
	}
	return named{info, f.name}, nil
}

func (f *sftpFiles) open(name string) (fs.File, error) {
	info, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		entries, err := f.list(name)
		return &openFolder{info, entries}, err
	}
	file, err := f.client.Open(name)
	if err != nil {
		return nil, sftpError(err)
	}
	return sftpFile{file, info.Name()}, nil
}

// chunk is the maximum that OpenSSH's server returns, unless its limits are queried.
const chunk = 1 << 15

func (f *sftpFiles) read(name string) ([]byte, error) {
	file, err := f.client.Open(name)
	if err != nil {
		return nil, sftpError(err)
	}
	defer file.Close()
	// Files of /proc report a size of 0, and files of /sys of 4096 bytes: the real size is known after reading. Nearly
	// all are short.
	buffer := f.buffers.Get().(*[chunk]byte)
	defer f.buffers.Put(buffer)
	var data []byte
	for {
		n, err := file.Read(buffer[:])
		data = append(data, buffer[:n]...)
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, sftpError(err)
		}
		if n == chunk {
			rest := bytes.NewBuffer(data)
			_, err = file.WriteTo(rest) // many requests at a time
			return rest.Bytes(), sftpError(err)
		}
	}
}

func (f *sftpFiles) readMany(ctx context.Context, names []string) (map[string]File, error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	files := make(map[string]File, len(names))
	lost, done := error(nil), make(chan struct{})
	for _, name := range names {
		all.Go(func() {
			data, err := f.read(name)
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, errConnectionLost) {
				lost = err
			}
			if err != nil {
				err = &fs.PathError{Op: "open", Path: name, Err: err}
			}
			files[name] = File{Data: data, Err: err}
		})
	}
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return files, lost
	case <-ctx.Done(): // if the host does not answer, reads fail when the connection is given up
		return nil, ctx.Err()
	}
}

func (f *sftpFiles) fetch(name string) ([]byte, error) {
	file, err := f.client.Open(name)
	if err != nil {
		return nil, sftpError(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, sftpError(err)
	}
	if info.Size() <= MaxFetched {
		var data bytes.Buffer
		_, err = file.WriteTo(&data) // many requests at a time
		return data.Bytes(), sftpError(err)
	}
	data, err := fetchFrom(file, path.Base(name), info.Size())
	if _, cut := errors.AsType[*Cut](err); cut {
		return data, err
	}
	return data, sftpError(err)
}

func (f *sftpFiles) size(names []string) (int64, error) {
	var sum int64
	for _, name := range names {
		info, err := f.client.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, sftpError(err)
		}
		sum += info.Size()
	}
	return sum, nil
}

func (f *sftpFiles) tail(name string, n int64) ([]byte, error) {
	file, err := f.client.Open(name)
	if err != nil {
		return nil, sftpError(err)
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, sftpError(err)
	}
	if _, err := file.Seek(max(0, end-n), io.SeekStart); err != nil {
		return nil, sftpError(err)
	}
	data, err := io.ReadAll(sftpFile{file, ""})
	return data, err
}

func (f *sftpFiles) list(name string) ([]fs.DirEntry, error) {
	infos, err := f.client.ReadDir(name)
	if err != nil {
		return nil, sftpError(err)
	}
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return byName(entries), nil
}

func (f *sftpFiles) stat(name string) (fs.FileInfo, error) {
	info, err := f.client.Stat(name)
	if err != nil {
		return nil, sftpError(err)
	}
	return named{info, base(name)}, nil
}

func (f *sftpFiles) lstat(name string) (fs.FileInfo, error) {
	info, err := f.client.Lstat(name)
	if err != nil {
		return nil, sftpError(err)
	}
	known, ok := info.Sys().(*sftp.FileStat)
	if !ok {
		return named{info, base(name)}, nil
	}
	return owned{named{info, base(name)}, &syscall.Stat_t{Uid: known.UID, Gid: known.GID}}, nil
}

func (f *sftpFiles) readLink(name string) (string, error) {
	to, err := f.client.ReadLink(name)
	return to, sftpError(err)
}

// base is the last part of a path; the root of an fs.FS is called ".".
func base(name string) string {
	if name == "/" {
		return "."
	}
	return path.Base(name)
}
