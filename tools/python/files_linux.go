package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"nod/chat"
	"nod/llm"
	"nod/tools"
)

const (
	inputMost     = 32 << 20  // bytes of one of the thread's files
	inputsMost    = 128 << 20 // of all of them
	producedMost  = 16 << 20  // bytes of a file that comes back
	producedTotal = 32 << 20
	producedCount = 10
	nameMost      = 120 // bytes
)

// lay puts the thread's files into the folder, each once. Changes of the code to its
// copy stay, until the thread holds another file of that name. Dropped files go. The
// notes are for the model.
func (f *folder) lay(ctx context.Context, in tools.Input) (notes []string, err error) {
	root, err := os.OpenRoot(f.work())
	if err != nil {
		return nil, fmt.Errorf("look into python's folder: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	held, total := map[string]bool{}, int64(0)
	for _, file := range slices.Backward(in.Files) { // the latest matter most
		name := plainName(file.Name)
		if held[name] {
			continue
		}
		held[name] = true
		total += file.Size
		if file.Size > inputMost || total > inputsMost {
			notes = append(notes, fmt.Sprintf("%s is not in the folder: it is too large", name))
			continue
		}
		note, err := f.layOne(ctx, root, in, file)
		if err != nil {
			return notes, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	for name := range f.note.Laid {
		if !held[name] {
			delete(f.note.Laid, name)
			if err := f.discard(name); err != nil {
				return notes, err
			}
		}
	}
	return notes, nil
}

func (f *folder) layOne(ctx context.Context, root *os.Root, in tools.Input, file chat.File) (note string, err error) {
	name := plainName(file.Name)
	if _, err := root.Lstat(name); err == nil && f.note.Laid[name].Blob == file.Blob && file.Blob != "" {
		return "", nil
	}
	if in.Open == nil {
		return name + " is not in the folder: it can't be opened", nil
	}
	data, err := in.Open(ctx, file)
	if err != nil {
		return fmt.Sprintf("%s is not in the folder: it can't be opened", name), nil
	}
	// An existing file goes first, so that nothing is written through a link.
	if err := f.discard(name); err != nil {
		return "", err
	}
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("put a file into python's folder: %w", err)
	}
	_, err = to.Write(data)
	if err = errors.Join(err, f.give(to), to.Close()); err != nil {
		return "", fmt.Errorf("put a file into python's folder: %w", err)
	}
	f.note.Laid[name] = input{Blob: file.Blob, Size: int64(len(data))}
	if name != file.Name {
		return fmt.Sprintf("the file %q is in the folder as %s", file.Name, name), nil
	}
	return "", nil
}

// plainName makes a name that is a file's own, not hidden, and no path.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == utf8.RuneError || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, name)
	if strings.HasPrefix(name, ".") {
		name = "_" + name[1:]
	}
	if ext := path.Ext(name); len(name) > nameMost {
		if len(ext) > 20 {
			ext = ""
		}
		cut := nameMost - len(ext)
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + ext
	}
	if name == "" {
		return "file"
	}
	return name
}

// produced reads the files that are new or not the same as before. No code runs
// meanwhile. The notes say which are left out, and why.
func (f *folder) produced(before map[string]mark) (files []llm.File, notes []string, err error) {
	after, _, err := f.list()
	if err != nil && !errors.Is(err, errTooMany) {
		return nil, nil, err
	}
	var names []string
	for name, m := range after {
		if was, ok := before[name]; (!ok || was != m) && m.size > 0 && !hidden(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, naturally)
	root, err := os.OpenRoot(f.work())
	if err != nil {
		return nil, nil, fmt.Errorf("look into python's folder: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written
	total := int64(0)
	for n, name := range names {
		if len(files) == producedCount {
			return files, append(notes, fmt.Sprintf("%d more files stay in the folder: %d are handed out at once", len(names)-n, producedCount)), nil
		}
		data, why := readProduced(root, name, producedTotal-total)
		if why != "" {
			notes = append(notes, fmt.Sprintf("%s stays in the folder: %s", plainName(name), why))
			continue
		}
		total += int64(len(data))
		files = append(files, llm.File{Name: plainName(name), MediaType: mediaType(name, data), Data: data})
	}
	return files, notes, nil
}

// hidden says whether a file is nobody's business: its own name or a folder's
// begins with a dot, or Python made it for itself.
func hidden(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || part == "__pycache__"
	})
}

// naturally puts plot-2 before plot-10.
func naturally(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(stem(a), "0123456789") == strings.TrimRight(stem(b), "0123456789") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func stem(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// readProduced reads a regular file, or says why not.
func readProduced(root *os.Root, name string, room int64) (data []byte, why string) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, "it can't be read"
	}
	defer func() { _ = file.Close() }() // nothing was written
	info, err := file.Stat()
	switch {
	case err != nil || !info.Mode().Type().IsRegular():
		return nil, "it can't be read"
	case info.Size() > producedMost:
		return nil, fmt.Sprintf("it has %s, and %s are the most", bytesText(info.Size()), bytesText(producedMost))
	case info.Size() > room:
		return nil, fmt.Sprintf("the files of one call may have %s together", bytesText(producedTotal))
	}
	data, err = io.ReadAll(io.LimitReader(file, info.Size()))
	if err != nil {
		return nil, "it can't be read"
	}
	return data, ""
}

// mediaTypes are those that no content tells.
var mediaTypes = map[string]string{
	".csv": "text/csv; charset=utf-8", ".tsv": "text/tab-separated-values; charset=utf-8", ".json": "application/json",
	".svg": "image/svg+xml", ".md": "text/markdown; charset=utf-8",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

func mediaType(name string, data []byte) string {
	if t := mediaTypes[strings.ToLower(path.Ext(name))]; t != "" {
		return t
	}
	return http.DetectContentType(data)
}

// bytesText says a size so that people understand it.
func bytesText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
