package python

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nod/chat"
)

const (
	filesMost = 1000 // files and folders in a thread's folder
	depthMost = 30
	blockSize = 4096 // how much disk a file takes in vain, at most
)

var errTooMany = errors.New("too many files")

// folder is a thread's part of the disk: the working folder of its code, and beside it,
// out of the code's reach, the record.
type folder struct {
	path string
	note record
	give func(*os.File) error
}

// record is the content of the folder's file.
type record struct {
	Used  time.Time
	Alive bool             // an interpreter had variables when this was written
	Names []string         // of the variables
	Laid  map[string]input // the thread's files that were put there, by name
}

// input is a file of the thread that lies in the folder.
type input struct {
	Blob string
	Size int64
}

// folderName is where a thread's folder is.
func folderName(thread chat.ThreadID) string {
	sum := sha256.Sum256([]byte(thread.String()))
	return hex.EncodeToString(sum[:16])
}

// openFolder makes the folder when it is not there.
func openFolder(path string, give func(*os.File) error) (*folder, error) {
	f := &folder{path: path, give: give}
	if err := f.make(); err != nil {
		return nil, err
	}
	var err error
	f.note, err = readRecord(path)
	return f, err
}

// work is the working folder of the code.
func (f *folder) work() string { return filepath.Join(f.path, "work") }

func (f *folder) make() error {
	// The sandbox's user has to come through, and to get no further than its own.
	err := os.MkdirAll(f.path, 0o711)
	if err == nil {
		err = os.Mkdir(f.work(), 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	var dir *os.File
	if err == nil {
		dir, err = os.Open(f.work())
	}
	if err != nil {
		return fmt.Errorf("make python's folder: %w", err)
	}
	if err := errors.Join(f.give(dir), dir.Close()); err != nil {
		return fmt.Errorf("give away python's folder: %w", err)
	}
	return nil
}

const recordName = "state.json"

func readRecord(path string) (record, error) {
	var r record
	data, err := os.ReadFile(filepath.Join(path, recordName))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return record{}, fmt.Errorf("read note on python's folder: %w", err)
	}
	if r.Laid == nil {
		r.Laid = map[string]input{}
	}
	return r, nil
}

// save writes the record, whole or not at all.
func (f *folder) save() error {
	name := filepath.Join(f.path, recordName)
	data, err := json.Marshal(f.note)
	if err == nil {
		err = os.WriteFile(name+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		return fmt.Errorf("write note on python's folder: %w", err)
	}
	return nil
}

// mark tells whether a file is still the same. Code can set the time of a
// modification, but not that of a change.
type mark struct {
	inode   uint64
	size    int64
	changed syscall.Timespec
}

// list gives the regular files by their path in the working folder, and how much
// disk everything there takes. It follows no link. errTooMany says that there is
// more than it looks at.
func (f *folder) list() (files map[string]mark, size int64, err error) {
	root, err := os.OpenRoot(f.work())
	if err != nil {
		return nil, 0, fmt.Errorf("look into python's folder: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	files, count := map[string]mark{}, 0
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if count++; count > filesMost+1 || strings.Count(path, "/") > depthMost {
			return errTooMany
		}
		if err != nil {
			return vanished(err)
		}
		info, err := d.Info()
		if err != nil {
			return vanished(err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.New("this system does not say enough of files")
		}
		size += stat.Blocks * 512
		if info.Mode().IsRegular() {
			files[path] = mark{stat.Ino, stat.Size, stat.Ctim}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errTooMany) {
		err = fmt.Errorf("look into python's folder: %w", err)
	}
	return files, size, err
}

// vanished ignores files that code removed or locked meanwhile; others still count
// them.
func vanished(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOTDIR):
		return nil
	}
	return errTooMany // such as names that are too long together
}

// over says why the code has to end, when it wrote more than disk bytes.
func (f *folder) over(disk int64) string {
	_, size, err := f.list()
	for _, in := range f.note.Laid {
		disk += in.Size + blockSize
	}
	switch {
	case errors.Is(err, errTooMany):
		return fmt.Sprintf("it made more than %d files, or folders in each other too deep", filesMost)
	case err != nil:
		return "its folder could not be looked at"
	case size > disk:
		return "its files take too much of the disk"
	}
	return ""
}

// clear empties the working folder.
func (f *folder) clear() error {
	f.note.Laid = map[string]input{}
	return errors.Join(erase(f.work()), f.make())
}

// discard removes a file or folder of the working folder, by its own name.
func (f *folder) discard(name string) error {
	path := filepath.Join(f.work(), name)
	switch err := os.Remove(path); {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTEMPTY):
		return eraseBy(path, f.work())
	default:
		return fmt.Errorf("take a file from python's folder: %w", err)
	}
}

// erase removes a folder with its content, also locked files. No code runs there any
// more. Folders may be nested deeper than a path can name, so each is moved out before
// it is opened.
func erase(path string) error { return eraseBy(path, path) }

// eraseBy takes folders out to beside, which is on the same disk.
func eraseBy(path, beside string) error {
	beside += "." + rand.Text() // no earlier attempt's
	queue := []string{path}
	for n := 0; len(queue) > 0; queue = queue[1:] {
		dir := queue[0]
		err := os.Chmod(dir, 0o700) // its owner may have closed it
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		entries, unread := os.ReadDir(dir)
		errs := []error{err, unread}
		for _, e := range entries {
			from := filepath.Join(dir, e.Name())
			if !e.IsDir() {
				errs = append(errs, os.Remove(from))
				continue
			}
			n++
			queue = append(queue, fmt.Sprintf("%s.%d", beside, n))
			errs = append(errs, os.Chmod(from, 0o700), os.Rename(from, queue[len(queue)-1])) // without the right to write to it, it can't move
		}
		if err := errors.Join(append(errs, os.Remove(dir))...); err != nil {
			return fmt.Errorf("erase python's folder: %w", err)
		}
	}
	return nil
}
