// Package volatile is a disk for tests that has a volatile cache, as every disk has: a
// FUSE file system in memory, in the test's process. It keeps written content apart
// from flushed content. A power cut loses unflushed content: all of it, its end, or any
// sectors. And it can fail a flush as Linux does: the pages are clean then, so they
// never reach the disk unless they are written again, and each open file hears of it
// once.
//
// Names are safer than content, as with a journal: a new, renamed or deleted file
// survives a power cut. SQLite's shared memory has no content behind a power cut.
package volatile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Disk is a mounted disk with one folder. No process may use it during [Disk.Cut].
type Disk struct {
	Dir string // where it is mounted

	t    testing.TB
	rng  *rand.Rand
	root *folder

	mu     sync.Mutex // guards all files too
	fail   bool       // the next flush
	drop   bool       // a failed flush drops the pages: they are read as the disk has them
	failed int
}

// Mount mounts an empty disk until the test ends. It skips the test where this user may
// not mount, or the kernel has no FUSE.
func Mount(t testing.TB, rng *rand.Rand) *Disk {
	t.Helper()
	d := &Disk{t: t, rng: rng, Dir: t.TempDir()}
	if err := d.mount(nil); err != nil {
		t.Skip("a disk can't be mounted here:", err)
	}
	t.Cleanup(d.unmount)
	return d
}

// mount gives the disk these files. The descriptor of its device is opened here, since
// the library's own one lives on in programs that the test starts: when the test's
// process dies, they would wait for a disk that nobody serves.
func (d *Disk) mount(files map[string]*file) error {
	device, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", device, os.Geteuid(), os.Getegid())
	if err := syscall.Mount("volatile", d.Dir, "fuse.volatile", syscall.MS_NOSUID|syscall.MS_NODEV, data); err != nil {
		return errors.Join(err, syscall.Close(device))
	}
	d.root = &folder{disk: d, files: files}
	server, err := fs.Mount(fmt.Sprintf("/dev/fd/%d", device), d.root, nil)
	if err != nil {
		d.unmount()
		return err
	}
	return server.WaitMount()
}

// unmount waits for no process: the test may have failed while one had the disk.
func (d *Disk) unmount() {
	if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil {
		d.t.Errorf("unmount %s: %v", d.Dir, err)
	}
}

// FailFlush fails the next flush that has content. With drop, its pages are read as the
// disk has them from then on, as some file systems do it; without, as they were written.
func (d *Disk) FailFlush(drop bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail, d.drop = true, drop
}

// Failed counts the failed flushes.
func (d *Disk) Failed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Loss is how much of the unflushed content a power cut loses.
type Loss int

// The losses.
const (
	All     Loss = iota // all of it
	End                 // a part from some write on
	Sectors             // any sectors
	losses
)

// AnyLoss picks one.
func AnyLoss(rng *rand.Rand) Loss { return Loss(rng.IntN(int(losses))) }

// Cut cuts the power and mounts what the disk holds.
func (d *Disk) Cut(loss Loss) {
	d.t.Helper()
	d.unmount()
	if err := d.mount(d.remains(loss)); err != nil {
		d.t.Fatal(err)
	}
}

// remains gives the files after a power cut.
func (d *Disk) remains(loss Loss) map[string]*file {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = false
	files := map[string]*file{}
	children := d.root.Children()
	for _, name := range slices.Sorted(maps.Keys(children)) {
		was := children[name].Operations().(*file)
		f := &file{disk: d, mode: was.mode}
		if !was.shared {
			f.flushed = was.survives(loss, d.rng)
			f.written = slices.Clone(f.flushed)
		}
		files[name] = f
	}
	return files
}

// folder is the folder of the disk.
type folder struct {
	fs.Inode
	disk  *Disk
	files map[string]*file
}

// OnAdd implements fs.NodeOnAdder.
func (r *folder) OnAdd(ctx context.Context) {
	for name, f := range r.files {
		r.add(ctx, name, f)
	}
}

func (r *folder) add(ctx context.Context, name string, f *file) {
	f.shared = strings.HasSuffix(name, "-shm")
	r.AddChild(name, r.NewPersistentInode(ctx, f, fs.StableAttr{Mode: fuse.S_IFREG}), true)
}

// Create implements fs.NodeCreater.
func (r *folder) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	f := &file{disk: r.disk, mode: mode & uint32(os.ModePerm)}
	r.add(ctx, name, f)
	f.attributes(&out.Attr)
	h, flags, _ := f.Open(ctx, 0)
	return f.EmbeddedInode(), h, flags, 0
}

// Unlink implements fs.NodeUnlinker.
func (*folder) Unlink(context.Context, string) syscall.Errno { return 0 }

// Link implements fs.NodeLinker.
func (*folder) Link(_ context.Context, to fs.InodeEmbedder, _ string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	f := to.(*file)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.attributes(&out.Attr)
	return f.EmbeddedInode(), 0
}

// Rename implements fs.NodeRenamer.
func (*folder) Rename(context.Context, string, fs.InodeEmbedder, string, uint32) syscall.Errno {
	return 0
}

// Fsync implements fs.NodeFsyncer, of the folder.
func (*folder) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno { return 0 }
