package host

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/safepath"
)

// Owners lets safepath examine the files of a target.
func Owners(ctx context.Context, t Target) safepath.System { return owners{ctx, t} }

type owners struct {
	ctx context.Context
	t   Target
}

// under returns the name of an absolute path in a target's file system.
func under(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}

func (o owners) Lstat(name string) (safepath.Info, error) {
	info, err := fs.Lstat(o.t.FS(), under(name))
	if err != nil {
		return safepath.Info{}, err
	}
	if _, ok := info.Sys().(*syscall.Stat_t); !ok {
		return safepath.Info{}, fmt.Errorf("the owner of %s on %s is unknown", name, o.t.Name())
	}
	return safepath.InfoOf(info), nil
}

func (o owners) Readlink(name string) (string, error) { return fs.ReadLink(o.t.FS(), under(name)) }

func (o owners) PrivateGroup(group, user int) bool {
	const users, groups = "/etc/passwd", "/etc/group"
	files, err := o.t.ReadFiles(o.ctx, users, groups)
	if err != nil || files[users].Err != nil || files[groups].Err != nil {
		return false
	}
	return safepath.PrivateGroup(string(files[users].Data), string(files[groups].Data), group, user)
}
